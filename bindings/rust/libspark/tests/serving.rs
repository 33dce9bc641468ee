// SPDX-License-Identifier: Apache-2.0
//! What serving needs beside operators: priorities, events without a time, pinned memory and copies that do not wait,
//! allocation in stream order, modes of capture (all threads: alone.rs), updates of a graph, peers.
use libspark::{Arch, CaptureMode, Context, ContextOptions, DeviceBuffer, Error, Event, EventOptions, PinnedBuffer};
use libspark::{Result, Status, Stream, StreamOptions};

const COUNT: usize = 1024;

fn urgent() -> Result<(Context, Stream, DeviceBuffer<u32>)> {
    let ctx = Context::new(0)?;
    let stream = Stream::with(&ctx, StreamOptions::new().priority(-1))?;
    let x = DeviceBuffer::zeroed(&stream, COUNT)?;
    Ok((ctx, stream, x))
}

fn refused<T>(result: Result<T>, status: Status) -> Error {
    let error = result.err().expect("an error");
    assert_eq!(error.status(), status, "{error}");
    error
}

fn counted(ctx: &Context) -> Result<PinnedBuffer<u32>> {
    let mut made = PinnedBuffer::zeroed(ctx, COUNT)?;
    made.as_mut_slice()?.iter_mut().zip(1..).for_each(|(value, i)| *value = i);
    Ok(made)
}

#[test]
fn a_tuning_file_of_a_context() {
    let missing = ContextOptions::new().device(0).tuning("/no/such/file");
    let error = Context::with(&missing).err().unwrap();
    assert_eq!(error.status(), Status::INVALID_VALUE);
    assert!(error.to_string().contains("No such file or directory: /no/such/file"), "{error}");
    let offline = ContextOptions::new().offline(Arch::SM_120);
    assert!(Context::with(&offline.clone().tuning("/dev/null")).is_err(), "no line at all");
    assert!(Context::with(&offline.tuning("")).is_ok());
}

#[test]
fn priorities_and_events_without_a_time() -> Result<()> {
    let (ctx, stream, _) = urgent()?;
    refused(Stream::with(&ctx, StreamOptions::new().priority(1)), Status::INVALID_VALUE);
    let error = refused(Stream::with(&ctx, StreamOptions::new().priority(-1000)), Status::INVALID_VALUE);
    assert!(error.message().contains("to 0 wanted"), "{error}");
    let blocking = Stream::with(&ctx, StreamOptions::new().blocking(true))?;
    let timed = Event::with(&ctx, EventOptions::new().blocking_sync(true))?;
    let untimed = Event::with(&ctx, EventOptions::new().timing(false))?;
    timed.record(&stream)?;
    untimed.record(&stream)?;
    blocking.wait(&untimed)?;
    blocking.synchronize()?;
    assert!(untimed.is_done()? && timed.since(&timed)? >= 0.0);
    refused(untimed.since(&timed), Status::INVALID_VALUE);
    Ok(())
}

#[test]
fn pinned_memory_there_and_back() -> Result<()> {
    let (ctx, stream, mut x) = urgent()?;
    let other = Stream::new(&ctx)?;
    let there = counted(&ctx)?;
    let mut back = PinnedBuffer::from_slice(&ctx, &[0u32; COUNT])?;
    x.write_async(&stream, 0, &there, ..)?;
    x.read_async(&stream, 0, &mut back, ..)?;
    assert_eq!(back.as_slice()?, there.as_slice()?);
    x.write_async(&stream, COUNT - 2, &there, 7..=8)?;
    x.read_async(&stream, COUNT - 2, &mut back, ..2)?;
    x.read_async(&other, 0, &mut back, 2..3)?; // behind the copy before it
    let mut three = [0; 3];
    back.read(0, &mut three)?;
    assert_eq!(three, [8, 9, 1]);
    drop(there);

    refused(x.write_async(&stream, 1, &back, ..), Status::INVALID_BOUNDS);
    refused(x.write_async(&stream, 0, &back, ..=COUNT), Status::INVALID_BOUNDS);
    refused(x.read_async(&stream, 0, &mut back, COUNT + 1..), Status::INVALID_BOUNDS);
    refused(back.write(COUNT, &[1]), Status::INVALID_BOUNDS);
    refused(PinnedBuffer::<u32>::zeroed(&ctx, usize::MAX), Status::INVALID_VALUE);
    refused(PinnedBuffer::<u8>::zeroed(&ctx, 1 << 60), Status::HOST_MEMORY);
    let foreign = PinnedBuffer::<u32>::zeroed(&Context::new(0)?, COUNT)?;
    refused(x.write_async(&stream, 0, &foreign, ..), Status::INVALID_HANDLE);
    let mut none = PinnedBuffer::<u32>::zeroed(&ctx, 0)?;
    x.write_async(&stream, 0, &none, ..)?;
    assert!(none.is_empty() && none.as_slice()?.is_empty() && none.as_mut_slice()?.is_empty());
    Ok(())
}

#[test]
fn a_recorded_copy_reads_pinned_memory_at_every_launch() -> Result<()> {
    let (ctx, stream, mut x) = urgent()?;
    let mut step = PinnedBuffer::<u32>::zeroed(&ctx, 1)?;
    let mut out = PinnedBuffer::<u32>::zeroed(&ctx, 1)?;
    let graph = stream.capture(|stream| {
        x.write_async(stream, 3, &step, ..)?;
        x.read_async(stream, 3, &mut out, ..)
    })?;
    for value in [5, 6] {
        step.write(0, &[value])?;
        graph.launch(&stream)?;
        stream.synchronize()?;
        let mut found = [0];
        out.read(0, &mut found)?;
        assert_eq!(found, [value]);
    }
    refused(out.as_slice(), Status::INVALID_CAPTURE);
    refused(step.as_mut_slice(), Status::INVALID_CAPTURE);
    drop((step, out)); // the graph has them too
    graph.launch(&stream)?;
    assert_eq!(x.to_vec(&stream)?[3], 6);
    Ok(())
}

#[test]
fn a_capture_elsewhere_does_not_count() -> Result<()> {
    let (ctx, stream, mut x) = urgent()?;
    let other = Stream::new(&ctx)?;
    let host = counted(&ctx)?;
    other.capture(|_| {
        std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                x.write_async(&stream, 0, &host, ..)?;
                let mut scratch = DeviceBuffer::uninit_async(&stream, COUNT)?;
                scratch.copy_from(&stream, &x)?;
                assert_eq!(scratch.to_vec(&stream)?[COUNT - 1], COUNT as u32);
                host.as_slice().map(|values| assert_eq!(values[0], 1))
            });
            work.join().unwrap()
        })
    })?;
    Ok(())
}

#[test]
fn allocation_in_stream_order() -> Result<()> {
    let (ctx, stream, mut x) = urgent()?;
    let side = Stream::new(&ctx)?;
    let mut scratch = DeviceBuffer::<u32>::uninit_async(&stream, COUNT)?;
    scratch.fill_bytes(&stream, 1)?;
    x.copy_from(&stream, &scratch)?;
    scratch.fill_bytes(&side, 2)?; // behind the allocation, and before the end
    scratch.free_async(&stream)?;
    x.free_async(&side)?; // of whatever origin
    drop(DeviceBuffer::<u32>::uninit_async(&stream, COUNT)?); // ends as others do
    assert!(DeviceBuffer::<u32>::uninit_async(&stream, 0)?.is_empty());
    refused(DeviceBuffer::<u8>::uninit_async(&stream, 1 << 60), Status::DEVICE_MEMORY);

    let mut kept = DeviceBuffer::<u32>::uninit_async(&stream, COUNT)?;
    let mut result = DeviceBuffer::<u32>::zeroed(&stream, COUNT)?;
    let graph = stream.capture(|stream| {
        kept.fill_bytes(stream, 3)?;
        result.copy_from(stream, &kept)?;
        refused(DeviceBuffer::<u32>::uninit_async(stream, 1), Status::INVALID_CAPTURE);
        Ok(())
    })?;
    kept.free_async(&stream)?; // when the graph has ended
    graph.launch(&side)?;
    assert_eq!(result.to_vec(&side)?, [0x03030303; COUNT]);
    drop(graph);
    let other = Stream::new(&Context::new(0)?)?;
    refused(result.free_async(&other), Status::INVALID_HANDLE);
    Ok(())
}

/// What an allocation gives while a stream captures: on the thread of the capture, and on another one.
fn while_capturing(mode: CaptureMode) -> Result<[Option<Status>; 2]> {
    let (ctx, stream, mut x) = urgent()?;
    let allocate = || DeviceBuffer::<u32>::uninit(&ctx, 1).err().map(|error| error.status());
    let mut found = [None; 2];
    let graph = stream.capture_in(mode, |stream| {
        found = [allocate(), std::thread::scope(|scope| scope.spawn(allocate).join().unwrap())];
        x.fill_bytes(stream, 2)
    })?;
    graph.launch(&stream)?;
    assert_eq!(x.to_vec(&stream)?[0], 0x02020202);
    Ok(found)
}

#[test]
fn modes_of_capture() -> Result<()> {
    let refused = Some(Status::INVALID_CAPTURE);
    assert_eq!(while_capturing(CaptureMode::ThreadLocal)?, [refused, None]);
    assert_eq!(while_capturing(CaptureMode::Relaxed)?, [None, None]);
    Ok(())
}

#[test]
fn a_graph_is_updated_or_stays() -> Result<()> {
    let (ctx, stream, mut x) = urgent()?;
    let source = DeviceBuffer::from_slice(&stream, &[1u32; COUNT])?;
    let second = DeviceBuffer::from_slice(&stream, &[2u32; COUNT])?;
    let graph = stream.capture(|stream| x.copy_from(stream, &source))?;
    graph.launch(&stream)?;
    assert!(graph.update(&stream, |stream| x.copy_from(stream, &second))?);
    drop((source, second)); // the first when its launch is done, the second with the graph
    assert!(!graph.update(&stream, |stream| x.fill_bytes(stream, 9))?);
    assert!(!graph.update_in(CaptureMode::Relaxed, &stream, |_| Ok(()))?);
    let own = |_: &Stream| DeviceBuffer::<u32>::uninit(&ctx, 1).map(drop);
    refused(graph.update(&stream, own), Status::INVALID_CAPTURE);
    let (side, fork) = (Stream::new(&ctx)?, Event::new(&ctx)?);
    let unjoined = graph.update(&stream, |stream| {
        fork.record(stream)?;
        side.wait(&fork)?;
        x.fill_bytes(&side, 1)
    });
    refused(unjoined, Status::INVALID_CAPTURE); // another mistake
    let other = Stream::new(&Context::new(0)?)?;
    refused(graph.update(&other, |_| Ok(())), Status::INVALID_HANDLE);
    graph.launch(&stream)?;
    assert_eq!(x.to_vec(&stream)?, [2; COUNT]);
    Ok(())
}

#[test]
fn peers_on_one_device() -> Result<()> {
    let (ctx, stream, mut x) = urgent()?;
    let (peer, elsewhere, mut there) = urgent()?;
    assert!(!ctx.can_access(&peer)?);
    refused(ctx.enable_peer(&peer), Status::INVALID_DEVICE);
    there.fill_bytes(&elsewhere, 6)?;
    elsewhere.synchronize()?;
    for on in [&stream, &elsewhere] {
        x.fill_bytes(&stream, 0)?;
        stream.synchronize()?;
        x.copy_from_peer(on, &there)?;
        on.synchronize()?;
        assert_eq!(x.to_vec(&stream)?, [0x06060606; COUNT]);
    }
    let third = urgent()?.1;
    refused(x.copy_from_peer(&third, &there), Status::INVALID_HANDLE);
    let short = DeviceBuffer::<u32>::uninit(&peer, 1)?;
    refused(x.copy_from_peer(&stream, &short), Status::INVALID_SHAPE);
    Ok(())
}
