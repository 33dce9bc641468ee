// SPDX-License-Identifier: Apache-2.0
//! What the library that runs says about its operators; a newer one may know more than this crate has builders for.
use crate::error::text;
use crate::{Dtype, Record, ScaleLayout, Scheme};
use libspark_sys as sys;

/// An operator of the library.
#[derive(Clone, Copy)]
pub struct Operator(&'static sys::spark_op_desc);

/// One argument of an operator.
#[derive(Clone, Copy)]
pub struct Field {
    of: (u32, u32), // its operator, and its index there
    raw: &'static sys::spark_field,
}

/// One way in which a field may be quantised.
#[derive(Clone, Copy)]
pub struct Form(&'static sys::spark_quant_form);

/// All operators of the library that runs.
///
/// ```
/// let names: Vec<_> = libspark::operators().map(|operator| operator.name()).collect();
/// assert!(names.contains(&"gemm"));
/// ```
pub fn operators() -> impl Iterator<Item = Operator> {
    // SAFETY: no arguments but a number; descriptions are static.
    let count = unsafe { sys::spark_op_count() };
    (0..count).filter_map(|i| unsafe { sys::spark_op_at(i).as_ref() }.map(Operator))
}

/// One operator by its number.
pub fn operator(number: u32) -> Option<Operator> {
    // SAFETY: any number is allowed; descriptions are static.
    unsafe { sys::spark_op_describe(number).as_ref() }.map(Operator)
}

impl Operator {
    /// As in the C header: `kv_append`.
    pub fn name(&self) -> &'static str {
        // SAFETY: static text.
        unsafe { text(self.0.name) }
    }

    /// One sentence.
    pub fn about(&self) -> &'static str {
        // SAFETY: static text.
        unsafe { text(self.0.doc) }
    }

    /// Its number, for good.
    pub fn number(&self) -> u32 {
        self.0.op
    }

    /// Its arguments, in the order of the C structure.
    pub fn fields(&self) -> impl Iterator<Item = Field> {
        let op = self.0.op;
        // SAFETY: any numbers are allowed; descriptions are static.
        (0..self.0.num_fields)
            .filter_map(move |i| unsafe { sys::spark_op_field(op, i).as_ref() }.map(|raw| Field { of: (op, i), raw }))
    }
}

impl Field {
    /// The name of the C field and of the builder's function.
    pub fn name(&self) -> &'static str {
        // SAFETY: static text.
        unsafe { text(self.raw.name) }
    }

    /// One sentence.
    pub fn about(&self) -> &'static str {
        // SAFETY: static text.
        unsafe { text(self.raw.doc) }
    }

    /// What a scalar is that is not set, in words: "1 / sqrt(D)"; None where that is 0, and for what is no scalar.
    pub fn default_text(&self) -> Option<&'static str> {
        // SAFETY: static text.
        (!self.raw.default_text.is_null()).then(|| unsafe { text(self.raw.default_text) })
    }

    /// A scalar that a call must set, since no value is right for every model.
    pub fn is_required(&self) -> bool {
        self.raw.flags & sys::SPARK_FIELD_REQUIRED != 0
    }

    /// The types that a tensor may have.
    pub fn dtypes(&self) -> impl Iterator<Item = Dtype> {
        members(self.raw.dtype_mask).map(Dtype)
    }

    /// How a tensor may be quantised; nothing where it may not.
    pub fn forms(&self) -> impl Iterator<Item = Form> {
        let (op, field) = self.of;
        // SAFETY: any numbers are allowed; descriptions are static.
        (0..self.raw.num_forms).filter_map(move |i| unsafe { sys::spark_op_form(op, field, i).as_ref() }.map(Form))
    }
}

impl Form {
    /// As in the reference: `Q8_0`.
    pub fn name(&self) -> &'static str {
        // SAFETY: static text.
        unsafe { text(self.0.name) }
    }

    /// One sentence.
    pub fn about(&self) -> &'static str {
        // SAFETY: static text.
        unsafe { text(self.0.doc) }
    }

    /// How the scales apply.
    pub fn scheme(&self) -> Scheme {
        Scheme(self.0.scheme)
    }

    /// The types that the data may have.
    pub fn dtypes(&self) -> impl Iterator<Item = Dtype> {
        members(self.0.dtype_mask).map(Dtype)
    }

    /// The types that the scales may have; none where no scale stands beside the data.
    pub fn scale_dtypes(&self) -> impl Iterator<Item = Dtype> {
        members(self.0.scale_dtype_mask).map(Dtype)
    }

    /// The types that zero points may have; none where there are no zero points.
    pub fn zero_dtypes(&self) -> impl Iterator<Item = Dtype> {
        members(self.0.zero_dtype_mask).map(Dtype)
    }

    /// How the scales may lie.
    pub fn layouts(&self) -> impl Iterator<Item = ScaleLayout> {
        members(self.0.layout_mask.into()).map(ScaleLayout)
    }

    /// The elements of each of the last dimensions that share a scale, 0 for all; before these dimensions it is 1.
    pub fn block(&self) -> &'static [u16] {
        &self.0.block[..(self.0.num_blocks as usize).min(self.0.block.len())]
    }

    /// `Quant::global_scale` may be set.
    pub fn has_global_scale(&self) -> bool {
        self.0.flags & sys::SPARK_FORM_GLOBAL_SCALE != 0
    }

    /// The format of records, its bytes and its elements.
    pub fn record(&self) -> Option<(Record, usize, usize)> {
        let raw = self.0;
        (self.scheme() == Scheme::RECORD).then_some((
            Record(raw.record),
            raw.record_bytes as usize,
            raw.record_elements as usize,
        ))
    }
}

/// The numbers whose bits are set.
fn members(mask: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |bit| mask >> bit & 1 != 0)
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Operator({} = {})", self.name(), self.number())
    }
}

impl std::fmt::Debug for Field {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Field({})", self.name())
    }
}

impl std::fmt::Debug for Form {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Form({})", self.name())
    }
}
