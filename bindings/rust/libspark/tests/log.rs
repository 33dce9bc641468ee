// SPDX-License-Identifier: Apache-2.0
//! The log reaches a function of Rust, up to the level asked for, and ends; a sink that panics stops nothing. One test,
//! since the log is one for the process.
use libspark::{ops::Rmsnorm, set_log, Arch, Context, LogLevel, Result, TensorView, TensorViewMut};
use std::sync::Mutex;

static LINES: Mutex<Vec<(LogLevel, String, String)>> = Mutex::new(Vec::new());

fn keep(level: LogLevel, component: &str, text: &str) {
    LINES.lock().unwrap().push((level, component.to_owned(), text.to_owned()));
}

/// A call that is refused, which the library logs at the level Debug; its sentence.
fn refused(ctx: &Context) -> Result<String> {
    let wrong = Rmsnorm::new().x(TensorView::<f32>::planned(&[2, 64])?).y(TensorViewMut::<f32>::planned(&[2, 63])?);
    Ok(wrong.eps(0.0).query(ctx).unwrap_err().message().to_owned())
}

#[test]
fn lines_come_up_to_their_level_until_the_end() -> Result<()> {
    let ctx = Context::offline(Arch::SM_120)?;
    set_log(LogLevel::Debug, Some(keep));
    let sentence = refused(&ctx)?;
    let lines = std::mem::take(&mut *LINES.lock().unwrap());
    assert_eq!(lines.len(), 1, "{lines:?}");
    let (level, component, text) = &lines[0];
    assert_eq!((*level, component.as_str()), (LogLevel::Debug, "check"));
    assert!(text.ends_with(&sentence), "{text}");

    set_log(LogLevel::Warn, Some(keep));
    refused(&ctx)?;
    set_log(LogLevel::Debug, Some(|_, _, _| panic!("as it is meant to")));
    assert_eq!(refused(&ctx)?, sentence);
    set_log(LogLevel::Debug, None);
    refused(&ctx)?;
    assert!(LINES.lock().unwrap().is_empty());
    Ok(())
}
