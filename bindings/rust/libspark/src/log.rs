// SPDX-License-Identifier: Apache-2.0
//! The library's log.
use libspark_sys as sys;
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LogLevel {
    /// Something has failed.
    Error = sys::SPARK_LOG_ERROR as isize,
    /// Something is not as it was meant.
    Warn = sys::SPARK_LOG_WARN as isize,
    /// What happens once, as which driver is used.
    Info = sys::SPARK_LOG_INFO as isize,
    /// What happens often.
    Debug = sys::SPARK_LOG_DEBUG as isize,
}

/// Where lines go: with their level, the part of the library, and the text.
pub type LogSink = fn(LogLevel, &str, &str);

/// Sends the library's log lines up to a level to `sink`, for the whole process; None ends it. Without this call, and
/// without LIBSPARK_LOG, the library writes nothing.
///
/// The sink runs on the thread that logs, and must not call the library. Its panics end there.
///
/// ```
/// use libspark::{set_log, LogLevel};
///
/// set_log(LogLevel::Warn, Some(|level, component, text| eprintln!("libspark {level:?} {component}: {text}")));
/// ```
pub fn set_log(most: LogLevel, sink: Option<LogSink>) {
    let (function, user): (sys::spark_log_fn, *mut c_void) = match sink {
        Some(sink) => (Some(forward), sink as *mut c_void),
        None => (None, std::ptr::null_mut()),
    };
    // SAFETY: the library gives `user` to the function that was set with it, and to no other.
    unsafe { sys::spark_set_log(function, user, most as i32) }
}

unsafe extern "C" fn forward(user: *mut c_void, level: i32, component: *const c_char, text: *const c_char) {
    // SAFETY: set_log made it from such a function.
    let sink = unsafe { std::mem::transmute::<*mut c_void, LogSink>(user) };
    // SAFETY: the library gives texts that live for the call.
    let (component, text) = unsafe { (CStr::from_ptr(component), CStr::from_ptr(text)) };
    let level = match level as u32 {
        sys::SPARK_LOG_ERROR => LogLevel::Error,
        sys::SPARK_LOG_WARN => LogLevel::Warn,
        sys::SPARK_LOG_INFO => LogLevel::Info,
        _ => LogLevel::Debug,
    };
    // A panic must not go through the library's frames; its message has been printed by then.
    let _ = std::panic::catch_unwind(|| sink(level, &component.to_string_lossy(), &text.to_string_lossy()));
}
