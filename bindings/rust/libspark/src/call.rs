// SPDX-License-Identifier: Apache-2.0
//! What every operator's builder does; the builders themselves are generated (ops.rs).
use crate::error::{check, field_text, Result};
use crate::memory::Memory;
use crate::tensor::Holds;
use crate::{Context, Error, Status, Stream, Workspace};
use libspark_sys as sys;
use std::mem::size_of;
use std::sync::Arc;

/// A C structure of arguments.
///
/// # Safety
/// It begins with `spark_args`, zeros are valid for it, and `OP` is its operator.
pub(crate) unsafe trait Args: Default {
    const OP: u32;
    /// The scalars that have no usual value.
    const REQUIRED: &'static [&'static str];
}

/// Arguments, and the memory that they name.
pub(crate) struct Call<'a, A> {
    pub args: A,
    memory: Vec<&'a Arc<Memory>>,
    workspace: Option<&'a Workspace>,
    kernel_id: u64,
    set: u32, // bit i: REQUIRED[i] has been set
}

/// What an operator call will do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpInfo {
    /// Bytes of workspace that it needs.
    pub workspace_size: usize,
    /// A hash of the kernel's name: stable between processes and releases.
    pub kernel_id: u64,
    /// The kernel's name.
    pub kernel: String,
    /// Floating-point operations of the definition.
    pub flops: u64,
    /// Least memory traffic: each input read once, each output written once.
    pub bytes: u64,
    /// Kernel launches.
    pub launches: u32,
    /// The kernel gives the same bits every time.
    pub deterministic: bool,
    /// Its code is loaded in this context.
    pub loaded: bool,
    /// A dimension is zero: nothing will be launched.
    pub empty: bool,
}

fn empty_info() -> sys::spark_op_info {
    sys::spark_op_info { struct_size: size_of::<sys::spark_op_info>() as u32, ..Default::default() }
}

impl From<&sys::spark_op_info> for OpInfo {
    fn from(info: &sys::spark_op_info) -> OpInfo {
        OpInfo {
            workspace_size: info.workspace_size as usize,
            kernel_id: info.kernel_id,
            kernel: field_text(&info.kernel),
            flops: info.flops,
            bytes: info.bytes,
            launches: info.launches,
            deterministic: info.flags & sys::SPARK_OP_INFO_DETERMINISTIC != 0,
            loaded: info.flags & sys::SPARK_OP_INFO_LOADED != 0,
            empty: info.flags & sys::SPARK_OP_INFO_EMPTY != 0,
        }
    }
}

impl<'a, A: Args> Call<'a, A> {
    pub fn new() -> Self {
        let memory = Vec::with_capacity(8);
        let mut made = Call { args: A::default(), memory, workspace: None, kernel_id: 0, set: 0 };
        made.head_mut().struct_size = size_of::<A>() as u32;
        made.head_mut().op = A::OP;
        made
    }

    fn head(&self) -> *const sys::spark_args {
        let args: *const A = &self.args;
        args.cast()
    }

    fn head_mut(&mut self) -> &mut sys::spark_args {
        let args: *mut A = &mut self.args;
        // SAFETY: by the contract of Args, the structure begins with it.
        unsafe { &mut *args.cast() }
    }

    /// Notes the memory of a tensor.
    pub fn hold(&mut self, (raw, memory): (sys::spark_tensor, Holds<'a>)) -> sys::spark_tensor {
        self.memory.extend(memory.into_iter().flatten());
        raw
    }

    /// Notes that a required scalar has its value.
    pub fn set(&mut self, bit: u32) {
        self.set |= bit;
    }

    /// Notes that a scalar counts even where it is 0.
    pub fn give(&mut self, bit: u32) {
        self.head_mut().given |= bit;
    }

    /// Refuses a call that lacks a required scalar.
    fn complete(&self) -> Result<()> {
        match (0..A::REQUIRED.len()).find(|i| self.set >> i & 1 == 0) {
            Some(i) => Err(Error::not_set(A::OP, A::REQUIRED[i])),
            None => Ok(()),
        }
    }

    pub fn flag(&mut self, bit: u32, on: bool) {
        let flags = &mut self.head_mut().flags;
        *flags = if on { *flags | bit } else { *flags & !bit };
    }

    pub fn workspace(&mut self, workspace: &'a Workspace) {
        self.workspace = Some(workspace);
    }

    pub fn kernel_id(&mut self, id: u64) {
        self.kernel_id = id;
    }

    pub fn query(&self, ctx: &Context) -> Result<OpInfo> {
        self.complete()?;
        let mut info = empty_info();
        // SAFETY: the context is live, the pointers live for the call, and no device memory is touched.
        check(|err| unsafe { sys::spark_op_query(ctx.as_raw(), self.head(), &mut info, err) })?;
        Ok(OpInfo::from(&info))
    }

    pub fn prepare(&self, ctx: &Context) -> Result<OpInfo> {
        self.complete()?;
        let mut info = empty_info();
        // SAFETY: the context is live, the pointers live for the call, and no device memory is touched.
        check(|err| unsafe { sys::spark_op_prepare(ctx.as_raw(), self.head(), &mut info, err) })?;
        Ok(OpInfo::from(&info))
    }

    pub fn launch(&self, stream: &Stream) -> Result<()> {
        self.complete()?;
        let mut exec = sys::spark_exec {
            struct_size: size_of::<sys::spark_exec>() as u32,
            stream: stream.as_raw(),
            kernel_id: self.kernel_id,
            ..Default::default()
        };
        let mut memory = self.memory.clone();
        if let Some(workspace) = self.workspace {
            if !Arc::ptr_eq(&workspace.stream.inner, &stream.inner) {
                return Err(Error::new(Status::INVALID_HANDLE, "the workspace belongs to another stream".into()));
            }
            exec.workspace = workspace.buffer.as_raw();
            exec.workspace_size = workspace.len() as u64;
            memory.push(&workspace.buffer.memory);
        }
        stream.enqueue(&memory, None, |ctx, _, err| {
            // SAFETY: context and stream are live. Every tensor lies inside memory that lives until the work is done,
            // with its size told, so that the library holds shape and strides against it once more.
            unsafe { sys::spark_op_launch(ctx, self.head(), &exec, err) }
        })
    }

    pub fn explain(&self, ctx: &Context) -> Result<String> {
        self.complete()?;
        let mut text = vec![0u8; 4096];
        loop {
            let mut needed = 0;
            let capacity = text.len();
            let target = text.as_mut_ptr().cast();
            // SAFETY: the context is live, the pointers live for the call, and `text` has so many bytes.
            let done = check(|err| unsafe {
                sys::spark_op_explain(ctx.as_raw(), self.head(), target, capacity, &mut needed, err)
            });
            match done {
                Err(error) if error.status() == Status::BUFFER_TOO_SMALL && needed > capacity => text.resize(needed, 0),
                Err(error) => return Err(error),
                Ok(()) => {
                    text.truncate(needed.saturating_sub(1));
                    return Ok(String::from_utf8_lossy(&text).into_owned());
                }
            }
        }
    }

    pub fn kernels(&self, ctx: &Context, workspace_limit: u64) -> Result<Vec<OpInfo>> {
        self.complete()?;
        let mut infos = Vec::new();
        loop {
            let mut count = 0;
            let (capacity, target) = (infos.len() as u32, infos.as_mut_ptr());
            // SAFETY: the context is live, the pointers live for the call, and there are so many infos.
            check(|err| unsafe {
                sys::spark_op_kernels(ctx.as_raw(), self.head(), workspace_limit, target, capacity, &mut count, err)
            })?;
            if count <= capacity {
                return Ok(infos[..count as usize].iter().map(OpInfo::from).collect());
            }
            infos.resize(count as usize, empty_info());
        }
    }
}

macro_rules! operator {
    ($(#[$about:meta])* $name:ident, $args:ident, $op:ident, $required:expr) => {
        $(#[$about])*
        #[must_use = "nothing is enqueued before launch"]
        pub struct $name<'a> {
            call: crate::call::Call<'a, libspark_sys::$args>,
        }

        // SAFETY: specgen writes the structure and this line from one definition.
        unsafe impl crate::call::Args for libspark_sys::$args {
            const OP: u32 = libspark_sys::$op;
            const REQUIRED: &'static [&'static str] = &$required;
        }

        impl<'a> $name<'a> {
            /// Arguments of which none is set.
            pub fn new() -> Self {
                Self { call: crate::call::Call::new() }
            }

            /// Same inputs, same device: same bits, every time.
            pub fn deterministic(mut self, on: bool) -> Self {
                self.call.flag(libspark_sys::SPARK_FLAG_DETERMINISTIC, on);
                self
            }

            /// A row's bits do not depend on how many rows are computed with it.
            pub fn batch_invariant(mut self, on: bool) -> Self {
                self.call.flag(libspark_sys::SPARK_FLAG_BATCH_INVARIANT, on);
                self
            }

            /// Memory for intermediate results; `query` says how much.
            pub fn workspace(mut self, workspace: &'a crate::Workspace) -> Self {
                self.call.workspace(workspace);
                self
            }

            /// One of `kernels`, instead of the library's choice (0).
            pub fn kernel_id(mut self, id: u64) -> Self {
                self.call.kernel_id(id);
                self
            }

            /// Checks the arguments and says what a launch would do.
            pub fn query(&self, ctx: &crate::Context) -> crate::Result<crate::OpInfo> {
                self.call.query(ctx)
            }

            /// As `query`, and loads the code that the launch will need.
            pub fn prepare(&self, ctx: &crate::Context) -> crate::Result<crate::OpInfo> {
                self.call.prepare(ctx)
            }

            /// Enqueues the work. Never allocates or waits, but for code that is not loaded yet.
            pub fn launch(&self, stream: &crate::Stream) -> crate::Result<()> {
                self.call.launch(stream)
            }

            /// One line for each kernel: the first limit that it fails, or why it is chosen.
            pub fn explain(&self, ctx: &crate::Context) -> crate::Result<String> {
                self.call.explain(ctx)
            }

            /// Every kernel that is legal for these arguments, the preferred one first.
            pub fn kernels(&self, ctx: &crate::Context) -> crate::Result<Vec<crate::OpInfo>> {
                self.call.kernels(ctx, u64::MAX)
            }

            /// Those of them that need at most so many bytes of workspace.
            pub fn kernels_within(
                &self,
                ctx: &crate::Context,
                workspace_limit: u64,
            ) -> crate::Result<Vec<crate::OpInfo>> {
                self.call.kernels(ctx, workspace_limit)
            }
        }

        impl Default for $name<'_> {
            fn default() -> Self {
                Self::new()
            }
        }

        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use operator;
