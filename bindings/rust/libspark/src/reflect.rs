// SPDX-License-Identifier: Apache-2.0
//! What the library that runs says about its operators; a newer one may know more than this crate has builders for.
use crate::error::text;
use libspark_sys as sys;

/// An operator of the library.
#[derive(Clone, Copy)]
pub struct Operator(&'static sys::spark_op_desc);

/// One argument of an operator.
#[derive(Clone, Copy)]
pub struct Field(&'static sys::spark_field);

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
        // SAFETY: the library says how many there are, in static memory.
        unsafe { std::slice::from_raw_parts(self.0.fields, self.0.num_fields as usize) }.iter().map(Field)
    }
}

impl Field {
    /// The name of the C field and of the builder's function.
    pub fn name(&self) -> &'static str {
        // SAFETY: static text.
        unsafe { text(self.0.name) }
    }

    /// One sentence.
    pub fn about(&self) -> &'static str {
        // SAFETY: static text.
        unsafe { text(self.0.doc) }
    }
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
