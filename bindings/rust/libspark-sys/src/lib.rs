// SPDX-License-Identifier: Apache-2.0
//! The C API of libspark as it is: what `include/spark.h` declares, made by bindgen and committed.
//!
//! The rules of every call stand at the head of that header. Structures are zero by default (`Default`), and
//! `struct_size` must be set. Enumerations are integers with constants: a newer library may know more of them.
//! Most programs want the crate `libspark`, which is safe.
//!
//! ```
//! let version = unsafe { libspark_sys::spark_version() };
//! assert!(version >= 100, "0.1.0 is 100");
//! ```
#![no_std]
#![allow(non_camel_case_types, non_upper_case_globals, missing_docs)]
#![allow(clippy::missing_safety_doc)]

extern crate std;

mod bindings;
pub use bindings::*;
