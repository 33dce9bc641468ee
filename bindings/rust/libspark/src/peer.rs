// SPDX-License-Identifier: Apache-2.0
//! Two devices: access to each other's memory, and copies between them.
use crate::error::{check, Result};
use crate::{Context, DeviceBuffer, Element, Error, Status, Stream};
use libspark_sys as sys;
use std::mem::size_of;
use std::sync::Arc;

impl Context {
    /// Whether kernels of this context can be let read and write memory of `peer`; false where both are on one device.
    pub fn can_access(&self, peer: &Context) -> Result<bool> {
        let mut can = 0;
        // SAFETY: the contexts are live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_peer_can_access(self.as_raw(), peer.as_raw(), &mut can, err) })?;
        Ok(can != 0)
    }

    /// Lets them, until one of the two contexts ends; the other direction takes a call of its own. Memory that was
    /// allocated in stream order stays out of reach. Operators here still take memory of their own context, and
    /// [`DeviceBuffer::copy_from_peer`] becomes faster.
    pub fn enable_peer(&self, peer: &Context) -> Result<()> {
        // SAFETY: the contexts are live.
        check(|err| unsafe { sys::spark_peer_enable(self.as_raw(), peer.as_raw(), err) })
    }
}

impl<T: Element> DeviceBuffer<T> {
    /// Enqueues a copy of a buffer of the same length in another context, on a stream of either. It needs no peer
    /// access.
    pub fn copy_from_peer(&mut self, stream: &Stream, source: &DeviceBuffer<T>) -> Result<()> {
        self.as_long_as(source)?;
        let (here, there) = (&self.memory, &source.memory);
        if ![here, there].iter().any(|memory| Arc::ptr_eq(&memory.shared, &stream.inner.shared)) {
            let message = "the stream belongs to neither of the two contexts".into();
            return Err(Error::new(Status::INVALID_HANDLE, message));
        }
        let _held = stream.hold(&[here, there], None)?;
        let (to, from, bytes) = (here.shared.raw, there.shared.raw, (self.len() * size_of::<T>()) as u64);
        // SAFETY: contexts and stream are live, and both allocations have so many bytes, until the copy is done.
        check(|err| unsafe {
            sys::spark_mem_copy_peer(to, here.address, from, there.address, bytes, stream.as_raw(), err)
        })
    }
}
