// SPDX-License-Identifier: Apache-2.0
//! Device memory with an owner.
use crate::context::{lock, Leaving, Shared, What};
use crate::error::{check, Result};
use crate::ordered::Order;
use crate::stream::{remember, StreamInner};
use crate::{Context, Element, Error, Status, Stream};
use libspark_sys as sys;
use std::marker::PhantomData;
use std::mem::size_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// One allocation. Its last owner frees it, after the work of every stream that was given it.
pub(crate) struct Memory {
    pub shared: Arc<Shared>,
    pub address: u64,
    /// It is the host's.
    pinned: bool,
    owned: AtomicBool,
    used: Mutex<Vec<Arc<StreamInner>>>,
    pub order: Order,
}

impl Memory {
    pub fn device(ctx: &Context, address: u64, order: Order) -> Arc<Memory> {
        Memory::new(ctx, address, false, order)
    }

    pub fn pinned(ctx: &Context, address: u64) -> Arc<Memory> {
        Memory::new(ctx, address, true, Order::default())
    }

    fn new(ctx: &Context, address: u64, pinned: bool, order: Order) -> Arc<Memory> {
        let (shared, owned) = (ctx.shared.clone(), AtomicBool::new(true));
        Arc::new(Memory { shared, address, pinned, owned, used: Mutex::default(), order })
    }

    pub fn used_on(&self, stream: &Arc<StreamInner>) {
        remember(&mut lock(&self.used), stream);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if *self.owned.get_mut() {
            let after = std::mem::take(&mut *lock(&self.used));
            let what = match self.order.last() {
                Some(stream) => What::Ordered(self.address, stream),
                None if self.pinned => What::Pinned(self.address),
                None => What::Memory(self.address),
            };
            self.shared.leave(Leaving { what, after, kept: Vec::new() });
        }
    }
}

/// Device memory for `len` values of `T`, and the duty to free it.
///
/// Work that was enqueued with the buffer is finished before it is freed, so a buffer may be dropped at any time.
/// Order between streams is the caller's: without an event, two streams that use one buffer may give any numbers, but
/// never anything else than numbers.
///
/// ```
/// # fn main() -> libspark::Result<()> {
/// use libspark::{Context, DeviceBuffer, Status, Stream};
///
/// let ctx = Context::new(0)?;
/// let stream = Stream::new(&ctx)?;
/// let mut buffer = DeviceBuffer::<i32>::zeroed(&stream, 6)?;
/// buffer.write(&stream, 2, &[7, 8])?;
/// assert_eq!(buffer.to_vec(&stream)?, [0, 0, 7, 8, 0, 0]);
/// assert_eq!(buffer.view(&[2, 4]).unwrap_err().status(), Status::INVALID_BOUNDS);
/// # Ok(()) }
/// ```
pub struct DeviceBuffer<T: Element> {
    pub(crate) memory: Arc<Memory>,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Element> DeviceBuffer<T> {
    /// Memory with whatever was in it. The emulator reports what reads it before it was written.
    pub fn uninit(ctx: &Context, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = bytes_of::<T>(len)?;
        let mut address = 0;
        // SAFETY: the context is live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_mem_alloc(ctx.as_raw(), bytes, &mut address, err) })?;
        Ok(DeviceBuffer::own(Memory::device(ctx, address, Order::default()), len))
    }

    /// Memory full of zeros, when this returns.
    pub fn zeroed(stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        let mut made = DeviceBuffer::uninit(&stream.context(), len)?;
        made.fill_bytes(stream, 0)?;
        stream.synchronize()?;
        Ok(made)
    }

    /// A copy of host memory.
    pub fn from_slice(stream: &Stream, values: &[T]) -> Result<DeviceBuffer<T>> {
        let mut made = DeviceBuffer::uninit(&stream.context(), values.len())?;
        made.write(stream, 0, values)?;
        Ok(made)
    }

    /// Takes over memory of other software.
    ///
    /// # Safety
    /// `address` is what the driver gave for `len` values of `T` or more, in this context's CUcontext, and nothing
    /// else frees it.
    pub unsafe fn from_raw(ctx: &Context, address: u64, len: usize) -> DeviceBuffer<T> {
        DeviceBuffer::own(Memory::device(ctx, address, Order::default()), len)
    }

    pub(crate) fn own(memory: Arc<Memory>, len: usize) -> DeviceBuffer<T> {
        DeviceBuffer { memory, len, kind: PhantomData }
    }

    /// Hands the memory over; the receiver waits for work that uses it, and frees it.
    pub fn into_raw(self) -> u64 {
        self.memory.owned.store(false, Ordering::Release);
        self.memory.address
    }

    /// The device address, for other software. The memory stays this object's. 0 if it is empty.
    pub fn as_raw(&self) -> u64 {
        self.memory.address
    }

    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The context it belongs to.
    pub fn context(&self) -> Context {
        Context { shared: self.memory.shared.clone() }
    }

    /// Copies from the host to the values from `at` on; in stream order, and done on return.
    pub fn write(&mut self, stream: &Stream, at: usize, values: &[T]) -> Result<()> {
        let address = self.place(stream, at, values.len())?;
        stream.not_capturing("a copy from the host")?;
        let bytes = std::mem::size_of_val(values) as u64;
        let (ctx, source, stream) = (self.memory.shared.raw, values.as_ptr().cast(), stream.as_raw());
        // SAFETY: context and stream are live, source and destination have so many bytes, the call waits.
        check(|err| unsafe { sys::spark_mem_copy_to_device(ctx, address, source, bytes, stream, err) })
    }

    /// Copies the values from `at` on to the host; in stream order, and done on return.
    pub fn read(&self, stream: &Stream, at: usize, values: &mut [T]) -> Result<()> {
        let address = self.place(stream, at, values.len())?;
        stream.not_capturing("a copy to the host")?;
        let bytes = std::mem::size_of_val(values) as u64;
        let (ctx, target, stream) = (self.memory.shared.raw, values.as_mut_ptr().cast(), stream.as_raw());
        // SAFETY: context and stream are live, source and destination have so many bytes, the call waits, and any
        // bytes are values of T.
        check(|err| unsafe { sys::spark_mem_copy_to_host(ctx, target, address, bytes, stream, err) })
    }

    /// All values, on the host.
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>> {
        // SAFETY: any bytes, zeros too, are values of T.
        let mut values = vec![unsafe { std::mem::zeroed() }; self.len];
        self.read(stream, 0, &mut values)?;
        Ok(values)
    }

    /// Enqueues a copy of a buffer of the same length.
    pub fn copy_from(&mut self, stream: &Stream, source: &DeviceBuffer<T>) -> Result<()> {
        self.as_long_as(source)?;
        let (to, from, bytes) = (self.as_raw(), source.as_raw(), (self.len * size_of::<T>()) as u64);
        stream.enqueue(&[&self.memory, &source.memory], None, |ctx, stream, err| {
            // SAFETY: context and stream are live, and both allocations have so many bytes, until the copy is done.
            unsafe { sys::spark_mem_copy(ctx, to, from, bytes, stream, err) }
        })
    }

    pub(crate) fn as_long_as(&self, source: &DeviceBuffer<T>) -> Result<()> {
        if source.len != self.len {
            let message = format!("source has {} values; {} wanted", source.len, self.len);
            return Err(Error::new(Status::INVALID_SHAPE, message));
        }
        Ok(())
    }

    /// Enqueues setting every byte.
    pub fn fill_bytes(&mut self, stream: &Stream, value: u8) -> Result<()> {
        let (address, bytes) = (self.as_raw(), (self.len * size_of::<T>()) as u64);
        stream.enqueue(&[&self.memory], None, |ctx, stream, err| {
            // SAFETY: context and stream are live, and the allocation has so many bytes, until it is done.
            unsafe { sys::spark_mem_set(ctx, address, u32::from(value), bytes, stream, err) }
        })
    }

    /// The address of value `at`, of which `count` are inside.
    pub(crate) fn place(&self, stream: &Stream, at: usize, count: usize) -> Result<u64> {
        stream.inner.shared.same(&self.memory.shared, "the buffer")?;
        within(at, count, self.len)?;
        Ok(self.memory.address + (at * size_of::<T>()) as u64)
    }
}

impl<T: Element> std::fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "DeviceBuffer({:?}, {} at {:#x})", T::DTYPE, self.len, self.memory.address)
    }
}

/// The bytes of so many values.
pub(crate) fn bytes_of<T>(len: usize) -> Result<u64> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize);
    let refused = || Error::new(Status::INVALID_VALUE, format!("len is {len}; more than can be addressed"));
    bytes.map(|bytes| bytes as u64).ok_or_else(refused)
}

/// An error unless `count` values from `at` on are inside a buffer.
pub(crate) fn within(at: usize, count: usize, len: usize) -> Result<()> {
    if at > len || count > len - at {
        let message = format!("{count} values from value {at} on; the buffer has {len}");
        return Err(Error::new(Status::INVALID_BOUNDS, message));
    }
    Ok(())
}

/// Memory that operators may use on one stream while they run. Calls on one stream follow each other, so all of them
/// may share one; a call on another stream is refused.
pub struct Workspace {
    pub(crate) buffer: DeviceBuffer<u8>,
    pub(crate) stream: Stream,
}

impl Workspace {
    /// So many bytes; `OpInfo::workspace_size` says how many a call needs.
    pub fn new(stream: &Stream, bytes: usize) -> Result<Workspace> {
        Ok(Workspace { buffer: DeviceBuffer::uninit(&stream.context(), bytes)?, stream: stream.clone() })
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Workspace({} bytes on {:?})", self.len(), self.stream)
    }
}
