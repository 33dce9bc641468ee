// SPDX-License-Identifier: Apache-2.0
//! Everything may be sent and shared; sixteen threads do, on one context.
use libspark::ops::{Gemm, Rmsnorm, OPERATORS};
use libspark::{
    Context, DeviceBuffer, Error, Event, Graph, OpInfo, Stream, TensorView, TensorViewMut, Workspace, BF16,
};
use std::sync::Barrier;

fn shared<T: Send + Sync>() {}

#[test]
fn all_types_are_send_and_sync() {
    shared::<Context>();
    shared::<Stream>();
    shared::<Event>();
    shared::<Graph>();
    shared::<DeviceBuffer<BF16>>();
    shared::<Workspace>();
    shared::<TensorView<'static, f32>>();
    shared::<TensorViewMut<'static, f32>>();
    shared::<Gemm<'static>>();
    shared::<OpInfo>();
    shared::<Error>();
}

#[test]
fn every_operator_has_a_builder() {
    let of_the_library: Vec<_> = libspark::operators().map(|o| (o.name(), o.number())).collect();
    assert_eq!(of_the_library, OPERATORS);
}

const THREADS: usize = 16;

/// Runs `work` on all threads, started together.
fn together(work: impl Fn(usize) + Sync) {
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for i in 0..THREADS {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(i);
            });
        }
    });
}

#[test]
fn sixteen_threads_on_one_context() {
    let ctx = Context::new(0).unwrap();
    let values: Vec<f32> = (1..=64).map(|i| i as f32).collect();
    let x = DeviceBuffer::from_slice(&Stream::new(&ctx).unwrap(), &values).unwrap();
    let root = (values.iter().map(|v| v * v).sum::<f32>() / 64.0).sqrt();
    together(|i| {
        let stream = Stream::new(&ctx).unwrap();
        for _ in 0..4 {
            let mut y = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
            let norm = Rmsnorm::new().x(x.view(&[1, 64]).unwrap()).y(y.view_mut(&[1, 64]).unwrap()).eps(0.0);
            norm.prepare(&ctx).unwrap();
            if i % 2 == 0 {
                stream.capture(|stream| norm.launch(stream)).unwrap().launch(&stream).unwrap();
            } else {
                norm.launch(&stream).unwrap();
            }
            let got = y.to_vec(&stream).unwrap();
            for (y, x) in got.iter().zip(&values) {
                assert!((y - x / root).abs() <= 1e-5 * y.abs(), "{y} is not {x} / {root}");
            }
        }
    });
}

#[test]
fn things_end_on_other_threads() {
    let ctx = Context::new(0).unwrap();
    let stream = Stream::new(&ctx).unwrap();
    let mut buffers: Vec<_> = (0..THREADS).map(|_| DeviceBuffer::<u8>::uninit(&ctx, 4096).unwrap()).collect();
    buffers.iter_mut().for_each(|buffer| buffer.fill_bytes(&stream, 7).unwrap());
    let buffers: Vec<_> = buffers.into_iter().map(|buffer| std::sync::Mutex::new(Some(buffer))).collect();
    drop((ctx, stream));
    together(|i| drop(buffers[i].lock().unwrap().take()));
}
