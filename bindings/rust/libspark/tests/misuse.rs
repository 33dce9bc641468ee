// SPDX-License-Identifier: Apache-2.0
//! What the types cannot stop is an error with a sentence; what ends in any order ends well.
use libspark::ops::{Embedding, Gemm, Rmsnorm};
use libspark::{Arch, Context, DeviceBuffer, Event, Result, Status, Stream, TensorView, TensorViewMut, Workspace};
use libspark::{BF16, F16};

fn context() -> (Context, Stream) {
    let ctx = Context::new(0).expect("a device, or LIBSPARK_DRIVER=emu");
    let stream = Stream::new(&ctx).unwrap();
    (ctx, stream)
}

fn status<T>(result: Result<T>) -> Status {
    result.err().expect("an error").status()
}

#[test]
fn a_view_larger_than_its_buffer() {
    let (ctx, _) = context();
    let mut buffer = DeviceBuffer::<f32>::uninit(&ctx, 100).unwrap();
    assert!(buffer.view(&[10, 10]).is_ok());
    assert_eq!(status(buffer.view(&[10, 11])), Status::INVALID_BOUNDS);
    assert_eq!(status(buffer.view_mut(&[101])), Status::INVALID_BOUNDS);
    assert!(buffer.strided(9, &[10, 1], &[10, 1]).is_ok(), "reaches the last element exactly");
    assert_eq!(status(buffer.strided(10, &[10, 1], &[10, 1])), Status::INVALID_BOUNDS);
    assert_eq!(status(buffer.strided(0, &[usize::MAX, 3], &[usize::MAX, 1])), Status::INVALID_BOUNDS);
    assert_eq!(status(buffer.strided(usize::MAX, &[1], &[1])), Status::INVALID_BOUNDS);
    assert!(buffer.view(&[0, usize::MAX]).is_err(), "more than 63 bits");
    assert!(buffer.view(&[0, 7]).is_ok(), "nothing, anywhere");
}

#[test]
fn shapes_that_are_none() {
    let (ctx, _) = context();
    let buffer = DeviceBuffer::<f32>::uninit(&ctx, 8).unwrap();
    assert_eq!(status(buffer.view(&[])), Status::INVALID_SHAPE);
    assert_eq!(status(buffer.view(&[1; 7])), Status::INVALID_SHAPE);
    assert_eq!(status(buffer.strided(0, &[2, 2], &[1])), Status::INVALID_STRIDE);
    assert_eq!(status(buffer.strided(0, &[2, 2], &[0, 0])), Status::INVALID_STRIDE);
}

#[test]
fn an_empty_buffer_has_no_room() {
    let (ctx, stream) = context();
    let mut empty = DeviceBuffer::<f32>::uninit(&ctx, 0).unwrap();
    assert!(empty.is_empty() && empty.to_vec(&stream).unwrap().is_empty());
    let mut other = DeviceBuffer::<f32>::uninit(&ctx, 4).unwrap();
    assert_eq!(status(empty.view_mut(&[1, 4])), Status::INVALID_BOUNDS);
    let call = Rmsnorm::new().x(other.view(&[1, 4]).unwrap()).eps(0.0);
    assert!(call.query(&ctx).is_err(), "y is missing");
    drop(call);
    assert_eq!(status(other.write(&stream, 3, &[1.0, 2.0])), Status::INVALID_BOUNDS);
    assert_eq!(status(other.read(&stream, 5, &mut [])), Status::INVALID_BOUNDS);
}

#[test]
fn elements_that_share_bytes() {
    let (ctx, _) = context();
    let buffer = DeviceBuffer::<libspark::E2M1x2>::uninit(&ctx, 8).unwrap();
    assert_eq!(buffer.view(&[2, 8]).unwrap().as_raw().size_bytes, 8);
    assert_eq!(status(buffer.view(&[17])), Status::INVALID_BOUNDS);
    assert_eq!(status(buffer.strided(3, &[2], &[1])), Status::INVALID_ALIGNMENT);
}

#[test]
fn wrong_dtypes_are_named() {
    let (ctx, stream) = context();
    let a = DeviceBuffer::<BF16>::uninit(&ctx, 64).unwrap();
    let b = DeviceBuffer::<F16>::uninit(&ctx, 64).unwrap();
    let mut d = DeviceBuffer::<f32>::uninit(&ctx, 64).unwrap();
    let call = Gemm::new().a(a.view(&[8, 8]).unwrap()).b(b.view(&[8, 8]).unwrap()).d(d.view_mut(&[8, 8]).unwrap());
    let error = call.launch(&stream).unwrap_err();
    assert_eq!((error.status(), error.operator(), error.field()), (Status::INVALID_DTYPE, Some("gemm"), Some("b")));
    assert!(error.is_invalid() && !error.is_unsupported());
    assert!(error.to_string().starts_with("SPARK_ERR_INVALID_DTYPE: "), "{error}");
}

#[test]
fn what_is_not_set_or_has_no_memory() {
    let (_, stream) = context();
    let error = Gemm::new().launch(&stream).unwrap_err();
    assert_eq!((error.status(), error.field()), (Status::INVALID_NULL, Some("a")));
    let x = TensorView::<f32>::planned(&[1, 4]).unwrap();
    let call = Rmsnorm::new().x(x).y(TensorViewMut::<f32>::planned(&[1, 4]).unwrap()).eps(0.0);
    assert!(call.query(&stream.context()).is_ok());
    assert_eq!(status(call.launch(&stream)), Status::INVALID_NULL);
}

#[test]
fn two_contexts_do_not_mix() {
    let ((ctx, stream), (other, elsewhere)) = (context(), context());
    let mut buffer = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let mut foreign = DeviceBuffer::<f32>::zeroed(&elsewhere, 4).unwrap();
    assert_eq!(status(buffer.to_vec(&elsewhere)), Status::INVALID_HANDLE);
    assert_eq!(status(buffer.copy_from(&stream, &foreign)), Status::INVALID_HANDLE);
    let call = Rmsnorm::new().x(buffer.view(&[1, 4]).unwrap()).y(foreign.view_mut(&[1, 4]).unwrap()).eps(0.0);
    assert_eq!(status(call.launch(&stream)), Status::INVALID_HANDLE);
    let event = Event::new(&other).unwrap();
    assert_eq!(status(event.record(&stream)), Status::INVALID_HANDLE);
    assert_eq!(status(stream.wait(&event)), Status::INVALID_HANDLE);
    assert_eq!(status(event.since(&Event::new(&ctx).unwrap())), Status::INVALID_HANDLE);
    let graph = stream.capture(|stream| buffer.fill_bytes(stream, 1)).unwrap();
    assert_eq!(status(graph.launch(&elsewhere)), Status::INVALID_HANDLE);
}

#[test]
fn a_workspace_keeps_to_its_stream() {
    let (ctx, stream) = context();
    let workspace = Workspace::new(&stream, 1024).unwrap();
    let mut x = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let call = Rmsnorm::new().y_over_x(x.view_mut(&[1, 4]).unwrap()).eps(0.0).workspace(&workspace);
    assert_eq!(status(call.launch(&Stream::new(&ctx).unwrap())), Status::INVALID_HANDLE);
    call.launch(&stream).unwrap();
}

#[test]
fn an_offline_context_answers_what_it_can() {
    let ctx = Context::offline(Arch::SM_121).unwrap();
    assert_eq!(ctx.device().unwrap().compute_capability, (12, 1));
    assert_eq!(status(DeviceBuffer::<u8>::uninit(&ctx, 1)), Status::NO_DEVICE);
    assert_eq!(status(Stream::new(&ctx)), Status::NO_DEVICE);
    let table = TensorView::<BF16>::planned(&[100, 64]).unwrap();
    let ids = TensorView::<i32>::planned(&[5]).unwrap();
    let call = Embedding::new().table(table).ids(ids).y(TensorViewMut::<BF16>::planned(&[5, 64]).unwrap());
    let call = call.zero_invalid(true);
    assert!(!call.query(&ctx).unwrap().kernel.is_empty());
    assert!(call.explain(&ctx).unwrap().contains('*'));
    let kernels = call.kernels(&ctx).unwrap();
    assert!(!kernels.is_empty());
    assert_eq!(call.kernels_within(&ctx, 0).unwrap().len(), kernels.len()); // none of them needs a workspace
    assert_eq!(status(Context::offline(Arch(50))), Status::UNSUPPORTED_ARCH);
    assert_eq!(status(Context::new(999)), Status::INVALID_DEVICE);
}

#[test]
fn an_error_in_a_capture_ends_it() {
    let (_, stream) = context();
    let mut x = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    assert_eq!(status(stream.capture(|stream| x.write(stream, 0, &[1.0]))), Status::INVALID_CAPTURE);
    assert_eq!(status(stream.capture(|stream| stream.synchronize())), Status::INVALID_CAPTURE);
    let panic = std::panic::catch_unwind(|| stream.capture(|_| panic!("a caller's own")));
    assert!(panic.is_err());
    x.write(&stream, 0, &[1.0]).unwrap();
    stream.capture(|stream| x.fill_bytes(stream, 0)).unwrap().launch(&stream).unwrap();
    assert_eq!(x.to_vec(&stream).unwrap(), [0.0; 4]);
}

#[test]
fn a_capture_loads_no_code() {
    let (ctx, stream) = context();
    let mut x = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let call = Rmsnorm::new().y_over_x(x.view_mut(&[1, 4]).unwrap()).eps(1.0);
    let outcome = stream.capture(|stream| call.launch(stream));
    assert!(outcome.is_ok() || status(outcome) == Status::NOT_PREPARED);
    call.prepare(&ctx).unwrap();
    stream.capture(|stream| call.launch(stream)).unwrap();
}

#[test]
fn a_graph_keeps_what_it_uses() {
    let (ctx, stream) = context();
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let x = DeviceBuffer::from_slice(&stream, &[3.0f32; 4]).unwrap();
    let unrelated = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let side = Stream::new(&ctx).unwrap();
    let (fork, join) = (Event::new(&ctx).unwrap(), Event::new(&ctx).unwrap());
    let graph = stream
        .capture(|stream| {
            drop(unrelated); // freed when the capture is over
            fork.record(stream)?;
            side.wait(&fork)?;
            y.copy_from(&side, &x)?; // recorded too: the side stream has joined
            join.record(&side)?;
            stream.wait(&join)
        })
        .unwrap();
    drop((x, side, fork, join));
    let filler: Vec<_> = (0..8).map(|_| DeviceBuffer::from_slice(&stream, &[9.0f32; 4]).unwrap()).collect();
    graph.launch(&stream).unwrap();
    assert_eq!(y.to_vec(&stream).unwrap(), [3.0; 4]);
    drop((ctx, filler));
    graph.launch(&stream).unwrap();
    drop(graph);
    assert_eq!(y.to_vec(&stream).unwrap(), [3.0; 4]);
}

#[test]
fn things_end_in_any_order() {
    for first in 0..4 {
        let (ctx, stream) = context();
        let mut y = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
        let graph = stream.capture(|stream| y.fill_bytes(stream, 0)).unwrap();
        Rmsnorm::new().y_over_x(y.view_mut(&[1, 64]).unwrap()).eps(0.0).launch(&stream).unwrap();
        graph.launch(&stream).unwrap();
        let mut things: Vec<Box<dyn std::any::Any>> =
            vec![Box::new(ctx), Box::new(stream), Box::new(y), Box::new(graph)];
        drop(things.remove(first));
        drop(things);
    }
}

#[test]
fn memory_comes_back() {
    let (ctx, stream) = context();
    let (before, _) = ctx.memory().unwrap();
    for _ in 0..50 {
        let mut x = DeviceBuffer::<f32>::zeroed(&stream, 1 << 20).unwrap();
        let graph = stream.capture(|stream| x.fill_bytes(stream, 1)).unwrap();
        graph.launch(&stream).unwrap();
    }
    let (after, _) = ctx.memory().unwrap();
    assert!(before.saturating_sub(after) < 50 << 20, "{before} bytes were free, now {after}");
}

#[test]
fn a_workspace_that_is_missing_or_too_small() {
    let (ctx, stream) = context();
    let (m, n, k) = (128, 128, 2048); // few tiles, long sums: the library splits the sums over the device
    let a = DeviceBuffer::<BF16>::zeroed(&stream, m * k).unwrap();
    let b = DeviceBuffer::<BF16>::zeroed(&stream, n * k).unwrap();
    let mut d = DeviceBuffer::<f32>::uninit(&ctx, m * n).unwrap();
    let call = Gemm::new().a(a.view(&[m, k]).unwrap()).b(b.view(&[n, k]).unwrap()).d(d.view_mut(&[m, n]).unwrap());
    let needed = call.query(&ctx).unwrap().workspace_size;
    assert_ne!(needed, 0, "give this test a product whose kernel needs a workspace");
    assert_eq!(status(call.launch(&stream)), Status::WORKSPACE_TOO_SMALL);
    let (small, enough) = (Workspace::new(&stream, needed - 1).unwrap(), Workspace::new(&stream, needed).unwrap());
    let call = call.workspace(&small);
    assert_eq!(status(call.launch(&stream)), Status::WORKSPACE_TOO_SMALL);
    call.workspace(&enough).launch(&stream).unwrap();
    assert_eq!(d.to_vec(&stream).unwrap()[m * n - 1], 0.0);
}
