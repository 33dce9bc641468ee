// SPDX-License-Identifier: Apache-2.0
//! What other tests of the same process would notice or disturb: a capture that forbids to all threads, and what is
//! free on the device. One test, so that it is alone.
use libspark::{CaptureMode, Context, DeviceBuffer, Result, Status, Stream};

const LARGE: usize = 4 << 20; // numbers: 16 MiB, which no bookkeeping of a driver hides

/// While this mode captures, on another thread: may memory be allocated?
fn allocated_meanwhile(mode: CaptureMode) -> Result<Option<Status>> {
    let ctx = Context::new(0)?;
    let allocate = || DeviceBuffer::<u8>::uninit(&ctx, 1).err().map(|error| error.status());
    let mut found = None;
    Stream::new(&ctx)?.capture_in(mode, |_| {
        found = std::thread::scope(|scope| scope.spawn(allocate).join().unwrap());
        Ok(())
    })?;
    Ok(found)
}

/// What ends under a capture of another context, which forbids freeing, is freed with what ends next.
fn the_end_under_a_capture_elsewhere() -> Result<()> {
    let stream = Stream::new(&Context::new(0)?)?;
    let (before, large) = (free()?, DeviceBuffer::<u32>::zeroed(&stream, LARGE)?);
    let small = DeviceBuffer::<u32>::zeroed(&stream, 1)?;
    Stream::new(&Context::new(0)?)?.capture(|_| {
        drop(large);
        Ok(())
    })?;
    assert_eq!(lost(before)?, 1);
    drop(small);
    assert_eq!(lost(before)?, 0);
    Ok(())
}

/// An update gives back what the graph had before, when its launches are done.
fn what_an_update_replaces() -> Result<()> {
    let stream = Stream::new(&Context::new(0)?)?;
    let mut x = DeviceBuffer::<u32>::zeroed(&stream, LARGE)?;
    let before = free()?;
    let first = DeviceBuffer::<u32>::zeroed(&stream, LARGE)?;
    let second = DeviceBuffer::<u32>::zeroed(&stream, LARGE)?;
    let graph = stream.capture(|stream| x.copy_from(stream, &first))?;
    graph.launch(&stream)?;
    drop(first);
    assert_eq!(lost(before)?, 2);
    assert!(graph.update(&stream, |stream| x.copy_from(stream, &second))?);
    assert_eq!(lost(before)?, 1);
    drop(second);
    graph.launch(&stream)?;
    assert_eq!(lost(before)?, 1);
    drop(graph);
    assert_eq!(lost(before)?, 0);
    Ok(())
}

fn free() -> Result<u64> {
    Ok(Context::new(0)?.memory()?.0)
}

/// How many large buffers are missing from the free memory of before.
fn lost(before: u64) -> Result<i64> {
    Ok(((before as f64 - free()? as f64) / (4 * LARGE) as f64).round() as i64)
}

#[test]
fn alone() -> Result<()> {
    assert_eq!(allocated_meanwhile(CaptureMode::ThreadLocal)?, None);
    assert_eq!(allocated_meanwhile(CaptureMode::Global)?, Some(Status::INVALID_CAPTURE));
    the_end_under_a_capture_elsewhere()?;
    what_an_update_replaces()
}
