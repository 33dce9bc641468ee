// SPDX-License-Identifier: Apache-2.0
//! The library's answer to a call that failed, and the one place that asks for it.
use crate::{reflect, Status};
use libspark_sys as sys;
use std::ffi::CStr;
use std::fmt;

/// What a call gives back.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed: a status to decide by, the field that was wrong, and a sentence to show.
///
/// ```
/// # fn main() -> libspark::Result<()> {
/// use libspark::{ops::Rmsnorm, Arch, Context, Status, TensorView, TensorViewMut};
///
/// let ctx = Context::offline(Arch::SM_120)?;
/// let wrong = Rmsnorm::new().x(TensorView::<f32>::planned(&[2, 64])?).y(TensorViewMut::<f32>::planned(&[2, 63])?);
/// let error = wrong.eps(1e-5).query(&ctx).unwrap_err();
/// assert_eq!(error.status(), Status::INVALID_SHAPE);
/// assert_eq!((error.operator(), error.field()), (Some("rmsnorm"), Some("y")));
/// println!("{error}"); // which size was found, and which is wanted
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    status: Status,
    driver_code: i32,
    operator: Option<&'static str>,
    field: Option<&'static str>,
    message: String,
}

impl Error {
    /// The reason, as a number with a name.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The driver's own number (CUresult); 0 if the driver was not involved.
    pub fn driver_code(&self) -> i32 {
        self.driver_code
    }

    /// The operator whose arguments were refused.
    pub fn operator(&self) -> Option<&'static str> {
        self.operator
    }

    /// The field of the operator that was wrong.
    pub fn field(&self) -> Option<&'static str> {
        self.field
    }

    /// The sentence: which argument, the value found, the value wanted.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The caller's mistake: repeating the same call cannot succeed.
    pub fn is_invalid(&self) -> bool {
        self.status.0 / 1000 == 1
    }

    /// Meaningful, but this library, driver or device does not do it.
    pub fn is_unsupported(&self) -> bool {
        self.status.0 / 1000 == 2
    }

    pub(crate) fn new(status: Status, message: String) -> Error {
        Error { status, driver_code: 0, operator: None, field: None, message }
    }

    /// An operator lacks a scalar that no value is right for every model of.
    pub(crate) fn not_set(op: u32, field: &'static str) -> Error {
        let operator = reflect::operator(op);
        let (name, about) = operator.map_or(("", ""), |operator| {
            let found = operator.fields().find(|other| other.name() == field);
            (operator.name(), found.map_or("", |found| found.about()))
        });
        let message = format!("{name}: {field} is not set and has no default: {about}");
        Error { status: Status::INVALID_NULL, driver_code: 0, operator: Some(name), field: Some(field), message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.status.name(), self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Error({self}")?;
        if let (Some(operator), Some(field)) = (self.operator, self.field) {
            write!(out, "; {operator}.{field}")?;
        }
        out.write_str(")")
    }
}

impl std::error::Error for Error {}

impl Status {
    /// The name that it has in the C header.
    pub fn name(self) -> &'static str {
        // SAFETY: static text, for any number.
        unsafe { text(sys::spark_status_name(self.0)) }
    }
}

impl crate::Dtype {
    /// The name that it has in the C header.
    pub fn name(self) -> &'static str {
        // SAFETY: static text, for any number.
        unsafe { text(sys::spark_dtype_name(self.0)) }
    }

    /// The width of an element in bits; 0 for what the library does not know.
    pub fn bits(self) -> u32 {
        // SAFETY: any number is allowed.
        unsafe { sys::spark_dtype_bits(self.0) }
    }
}

/// Static text of the library.
///
/// # Safety
/// `pointer` leads to a string that lives as long as the program.
pub(crate) unsafe fn text(pointer: *const std::os::raw::c_char) -> &'static str {
    // SAFETY: as above.
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap_or("")
}

/// The text of a field of fixed size, up to its NUL.
pub(crate) fn field_text(bytes: &[std::os::raw::c_char]) -> String {
    let until: Vec<u8> = bytes.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&until).into_owned()
}

/// Makes one call of the library; what it says about a failure becomes the `Error`.
pub(crate) fn check(call: impl FnOnce(*mut sys::spark_error) -> sys::spark_status) -> Result<()> {
    let mut said =
        sys::spark_error { struct_size: std::mem::size_of::<sys::spark_error>() as u32, ..Default::default() };
    let status = call(&mut said);
    if status == sys::SPARK_OK {
        return Ok(());
    }
    let operator = reflect::operator(said.op);
    Err(Error {
        status: Status(status),
        driver_code: said.driver_code,
        operator: operator.as_ref().map(|o| o.name()),
        field: operator.as_ref().and_then(|o| o.fields().nth(said.field as usize)).map(|f| f.name()),
        message: field_text(&said.message),
    })
}
