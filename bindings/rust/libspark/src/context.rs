// SPDX-License-Identifier: Apache-2.0
//! Contexts, and the order in which things of a context end.
use crate::error::{check, field_text, Result};
use crate::memory::Memory;
use crate::stream::StreamInner;
use crate::{ordered, Error, Status};
use libspark_sys as sys;
use std::any::Any;
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, Weak};

/// A context of the library on one device. A clone is the same context; it ends with the last thing made in it.
///
/// ```
/// # fn main() -> libspark::Result<()> {
/// use libspark::{Context, DeviceBuffer, Stream};
///
/// let ctx = Context::new(0)?; // LIBSPARK_DRIVER=emu: the emulator takes the GPU's place
/// let stream = Stream::new(&ctx)?;
/// let buffer = DeviceBuffer::from_slice(&stream, &[1.0f32, 2.0, 3.0])?;
/// drop(ctx); // stream and buffer keep what they need
/// assert_eq!(buffer.to_vec(&stream)?, [1.0, 2.0, 3.0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
}

/// What an offline context answers for: a compute capability without its dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arch(pub u32);

impl Arch {
    /// GeForce RTX 50, RTX PRO 6000 Blackwell.
    pub const SM_120: Arch = Arch(120);
    /// GB10.
    pub const SM_121: Arch = Arch(121);
    /// H100, H200: for testing.
    pub const SM_90: Arch = Arch(90);
}

/// A device as the library sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its ordinal; -1 of an offline context.
    pub device: i32,
    /// Compute capability.
    pub compute_capability: (u32, u32),
    /// Multiprocessors.
    pub sm_count: u32,
    /// As the driver says it: 13000 is 13.0.
    pub driver_version: u32,
    /// All of its memory.
    pub memory_bytes: u64,
    /// Whether a context can be made.
    pub supported: bool,
    /// Why not.
    pub reason: String,
    /// It is the emulator.
    pub emulated: bool,
    /// Its name.
    pub name: String,
}

/// How many devices the driver has.
pub fn device_count() -> Result<usize> {
    let mut count = 0;
    // SAFETY: the pointers live for the call.
    check(|err| unsafe { sys::spark_device_count(&mut count, err) })?;
    Ok(count as usize)
}

/// Says what a device is, also one that is not supported.
pub fn device_info(device: i32) -> Result<DeviceInfo> {
    let mut info = empty_info();
    // SAFETY: the pointers live for the call.
    check(|err| unsafe { sys::spark_device_query(device, &mut info, err) })?;
    Ok(DeviceInfo::from(&info))
}

fn empty_info() -> sys::spark_device_info {
    sys::spark_device_info { struct_size: size_of::<sys::spark_device_info>() as u32, ..Default::default() }
}

impl From<&sys::spark_device_info> for DeviceInfo {
    fn from(info: &sys::spark_device_info) -> DeviceInfo {
        DeviceInfo {
            device: info.device,
            compute_capability: (info.cc_major, info.cc_minor),
            sm_count: info.sm_count,
            driver_version: info.driver_version,
            memory_bytes: info.memory_bytes,
            supported: info.supported != 0,
            reason: field_text(&info.reason),
            emulated: info.emulated != 0,
            name: field_text(&info.name),
        }
    }
}

/// What a context is like: `ContextOptions::new().tuning("my-card.tuning")`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextOptions {
    device: i32,
    arch: u32,
    cu_context: u64,
    tuning: PathBuf,
}

impl ContextOptions {
    /// Those of `Context::new(0)`.
    pub fn new() -> ContextOptions {
        ContextOptions::default()
    }

    /// The device with this number.
    pub fn device(mut self, device: i32) -> ContextOptions {
        self.device = device;
        self
    }

    /// No device: the context answers `query`, `explain` and `kernels` for this one.
    pub fn offline(mut self, arch: Arch) -> ContextOptions {
        self.arch = arch.0;
        self
    }

    /// A tuning file, read once, when the context is made; without one that of `LIBSPARK_TUNE` counts. One for another
    /// chip or library is left out, with a warning in the log; one that is missing or damaged is refused with
    /// `INVALID_VALUE`.
    pub fn tuning(mut self, path: impl Into<PathBuf>) -> ContextOptions {
        self.tuning = path.into();
        self
    }

    /// A CUcontext of other software, given as an integer.
    ///
    /// # Safety
    /// It is a context of the device, and lives until everything made in the new context is gone.
    pub unsafe fn cu_context(mut self, cu_context: u64) -> ContextOptions {
        self.cu_context = cu_context;
        self
    }
}

impl Context {
    /// A context on the device with this number, in the device's primary context.
    pub fn new(device: i32) -> Result<Context> {
        Context::with(&ContextOptions::new().device(device))
    }

    /// A context without a device: it answers `query`, `explain` and `kernels`.
    pub fn offline(arch: Arch) -> Result<Context> {
        Context::with(&ContextOptions::new().offline(arch))
    }

    /// A context inside a CUcontext of other software, given as an integer.
    ///
    /// # Safety
    /// `cu_context` is a context of `device`, and lives until everything made from the result is gone.
    pub unsafe fn from_raw(device: i32, cu_context: u64) -> Result<Context> {
        // SAFETY: what is asked of the caller is asked of ours.
        Context::with(&unsafe { ContextOptions::new().device(device).cu_context(cu_context) })
    }

    /// A context with a tuning file, or as its options say otherwise.
    pub fn with(options: &ContextOptions) -> Result<Context> {
        let path = options.tuning.as_os_str().as_bytes();
        let desc = sys::spark_context_desc {
            struct_size: size_of::<sys::spark_context_desc>() as u32,
            device: options.device,
            offline_arch: options.arch,
            cu_context: options.cu_context,
            tuning_path: path.as_ptr() as u64,
            tuning_path_bytes: path.len() as u64,
            ..Default::default()
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointers, and the path, live for the call.
        check(|err| unsafe { sys::spark_context_create(&desc, &mut raw, err) })?;
        let (captures, deferred, expected) = Default::default();
        let shared = Shared { raw, captures, deferred, expected };
        Ok(Context { shared: Arc::new(shared) })
    }

    /// The device of this context.
    pub fn device(&self) -> Result<DeviceInfo> {
        let mut info = empty_info();
        // SAFETY: the context is live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_context_device(self.as_raw(), &mut info, err) })?;
        Ok(DeviceInfo::from(&info))
    }

    /// Free and total bytes of device memory.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the context is live, and the pointers live for the call.
        check(|err| unsafe { sys::spark_mem_info(self.as_raw(), &mut free, &mut total, err) })?;
        Ok((free, total))
    }

    /// Loads the code of every operator's kernels, so that no later launch has to.
    pub fn preload(&self) -> Result<()> {
        // SAFETY: the context is live.
        check(|err| unsafe { sys::spark_context_preload(self.as_raw(), sys::SPARK_OP_NONE, err) })
    }

    /// The C handle, for calls through `libspark-sys`. It stays this object's.
    pub fn as_raw(&self) -> *mut sys::spark_context {
        self.shared.raw
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Context({:p})", self.shared.raw)
    }
}

/// Something that a recorded graph reads or writes when it is replayed.
pub(crate) type Kept = Arc<dyn Any + Send + Sync>;

/// A capture in progress: everything that the context's streams were given meanwhile. Streams may join a capture
/// through events, so that no stream alone can tell whether its work is being recorded.
#[derive(Default)]
pub(crate) struct Record {
    pub kept: Mutex<Vec<Kept>>,
}

/// The library's context, shared by all that was made in it.
pub(crate) struct Shared {
    pub raw: *mut sys::spark_context,
    /// Held for reading while work is enqueued, for writing where a capture begins or ends: so that each piece of work
    /// is known to every capture that may have recorded it.
    pub captures: RwLock<Vec<Arc<Record>>>,
    /// What was dropped during a capture, or under one of another context that forbids it.
    deferred: Mutex<Vec<Leaving>>,
    /// Memory in the order of streams that may not have come to it.
    pub expected: Mutex<Vec<Weak<Memory>>>,
}

// SAFETY: the library allows every call on one context from any thread at any time, but for destroying it, which the
// last owner does.
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

pub(crate) enum What {
    Memory(u64),
    /// Memory that is freed in the order of a stream.
    Ordered(u64, Arc<StreamInner>),
    Pinned(u64),
    Graph(u64),
    Stream {
        raw: u64,
        owned: bool,
    },
}

/// A thing that is to be freed when the work of some streams is done.
pub(crate) struct Leaving {
    pub what: What,
    pub after: Vec<Arc<StreamInner>>,
    pub kept: Vec<Kept>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn reading(&self) -> RwLockReadGuard<'_, Vec<Arc<Record>>> {
        self.captures.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a capture. What it records may run on any stream, so memory that is expected has to be there.
    pub fn begin(&self, call: impl FnOnce(*mut sys::spark_error) -> sys::spark_status) -> Result<Arc<Record>> {
        let mut expected = Vec::new(); // ends after the lock, for it may be the last owner
        let mut captures = self.captures.write().unwrap_or_else(PoisonError::into_inner);
        expected.extend(std::mem::take(&mut *lock(&self.expected)).iter().filter_map(Weak::upgrade));
        expected.iter().for_each(|memory| memory.settle());
        check(call)?;
        captures.push(Arc::default());
        Ok(captures[captures.len() - 1].clone())
    }

    /// Ends it, and frees what waited for that.
    pub fn end(
        &self,
        record: &Arc<Record>,
        call: impl FnOnce(*mut sys::spark_error) -> sys::spark_status,
    ) -> Result<()> {
        let mut captures = self.captures.write().unwrap_or_else(PoisonError::into_inner);
        let outcome = check(call);
        captures.retain(|other| !Arc::ptr_eq(other, record));
        drop(captures);
        self.sweep();
        outcome
    }

    /// Frees a thing when the work that uses it is done: at once, or after the captures in progress. What cannot be
    /// waited for (a device that failed) is leaked.
    pub fn leave(&self, leaving: Leaving) {
        lock(&self.deferred).push(leaving);
        self.sweep();
    }

    /// Frees what was left, unless a capture is in progress. Under a capture of another context it may be refused, and
    /// is tried again with the next thing that ends.
    fn sweep(&self) {
        let mut over = Vec::new(); // what it keeps may end other things: after the lock
        let captures = self.reading();
        if !captures.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut *lock(&self.deferred));
        for mut leaving in waiting {
            match self.free(&leaving) {
                Err(error) if error.status() == Status::INVALID_CAPTURE => lock(&self.deferred).push(leaving),
                outcome => {
                    if outcome.is_err() {
                        std::mem::forget(std::mem::take(&mut leaving.kept));
                    }
                    over.push(leaving);
                }
            }
        }
        drop(captures);
    }

    fn free(&self, Leaving { what, after, .. }: &Leaving) -> Result<()> {
        if let What::Ordered(address, stream) = what {
            match ordered::free(*address, stream, after) {
                Err(error) if error.status() != Status::INVALID_CAPTURE => {} // as the others, then
                outcome => return outcome,
            }
        }
        after.iter().try_for_each(|stream| stream.wait())?;
        // SAFETY: each of these is freed once, by its owner's end, after the work that used it.
        match *what {
            What::Memory(address) | What::Ordered(address, _) => {
                check(|err| unsafe { sys::spark_mem_free(self.raw, address, err) })
            }
            What::Pinned(address) => check(|err| unsafe { sys::spark_host_free(self.raw, address as *mut _, err) }),
            What::Graph(raw) => check(|err| unsafe { sys::spark_graph_destroy(self.raw, raw, err) }),
            What::Stream { raw, owned } => {
                check(|err| unsafe { sys::spark_stream_synchronize(self.raw, raw, err) })?;
                if !owned {
                    return Ok(());
                }
                check(|err| unsafe { sys::spark_stream_destroy(self.raw, raw, err) })
            }
        }
    }

    /// An error unless both belong to one context.
    pub fn same(&self, other: &Shared, what: &str) -> Result<()> {
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        let message = format!("{what} belongs to another context than the stream");
        Err(Error::new(Status::INVALID_HANDLE, message))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the last owner; everything made in the context is gone.
        unsafe { sys::spark_context_destroy(self.raw) }
    }
}
