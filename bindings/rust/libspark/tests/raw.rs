// SPDX-License-Identifier: Apache-2.0
//! Beside other software: streams, memory and contexts as integers, made and ended by plain C calls.
use libspark::ops::Rmsnorm;
use libspark::{sys, Context, DeviceBuffer, Event, Stream, TensorView, TensorViewMut};
use std::ptr::{null, null_mut};

#[test]
fn streams_and_memory_of_others() {
    let ctx = Context::new(0).unwrap();
    let (mut handle, mut address) = (0, 0);
    unsafe {
        assert_eq!(sys::spark_stream_create(ctx.as_raw(), null(), &mut handle, null_mut()), sys::SPARK_OK);
        assert_eq!(sys::spark_mem_alloc(ctx.as_raw(), 64 * 4, &mut address, null_mut()), sys::SPARK_OK);
    }
    {
        let stream = unsafe { Stream::from_raw(&ctx, handle) };
        assert_eq!(stream.as_raw(), handle);
        let theirs = unsafe { Stream::from_raw(&ctx, stream.native().unwrap()) }; // a CUstream
        assert_eq!(theirs.native().unwrap(), theirs.as_raw());
        assert_ne!(theirs.as_raw(), handle);
        theirs.synchronize().unwrap();
        assert_ne!(Event::new(&ctx).unwrap().native().unwrap(), 0);
        let x = DeviceBuffer::from_slice(&stream, &[5.0f32; 64]).unwrap();
        let y = unsafe { TensorViewMut::<f32>::from_raw(address, 64, &[1, 64]) }.unwrap();
        Rmsnorm::new().x(x.view(&[1, 64]).unwrap()).y(y).eps(0.0).launch(&stream).unwrap();
        assert!(unsafe { TensorView::<f32>::from_raw(address, 64, &[65]) }.is_err());
        assert!(unsafe { TensorView::<f32>::from_raw_strided(address, 64, 1, &[8, 8], &[8, 1]) }.is_err());
        assert!(unsafe { TensorViewMut::<f32>::from_raw_strided(address, 64, 0, &[8, 8], &[8, 1]) }.is_ok());
    }
    // The stream is still there, and ours to hand on; so is the memory.
    let stream = unsafe { Stream::from_raw(&ctx, handle) };
    let taken = unsafe { DeviceBuffer::<f32>::from_raw(&ctx, address, 64) };
    assert_eq!(taken.to_vec(&stream).unwrap(), [1.0; 64]);
    let given = taken.into_raw();
    assert_eq!(given, address);
    drop(stream);
    unsafe {
        assert_eq!(sys::spark_mem_free(ctx.as_raw(), given, null_mut()), sys::SPARK_OK);
        assert_eq!(sys::spark_stream_destroy(ctx.as_raw(), handle, null_mut()), sys::SPARK_OK);
    }
}

#[test]
fn the_default_stream() {
    let ctx = Context::new(0).unwrap();
    let stream = Stream::legacy_default(&ctx);
    assert_eq!((stream.as_raw(), stream.native().unwrap()), (0, 0));
    assert_eq!(DeviceBuffer::from_slice(&stream, &[1u8, 2]).unwrap().to_vec(&stream).unwrap(), [1, 2]);
    stream.synchronize().unwrap();
    assert!(stream.is_done().unwrap());
}
