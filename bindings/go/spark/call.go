// SPDX-License-Identifier: Apache-2.0

package spark

// #cgo pkg-config: libspark
// #include <spark.h>
//
// // The context as a number: Go 1.19 allocates where it passes a pointer to a type that C keeps to itself.
// static spark_status launch(uintptr_t ctx, const spark_args *args, const spark_exec *exec, spark_error *err) {
//     return spark_op_launch((spark_context *)ctx, args, exec, err);
// }
import "C"

import (
	"sync"
	"unsafe"
)

// Op is an operator with its arguments: what each structure of arguments can do.
type Op interface {
	Query(ctx *Context) (OpInfo, error)
	Prepare(ctx *Context) (OpInfo, error)
	Launch(stream *Stream) error
	Explain(ctx *Context) (string, error)
	Kernels(ctx *Context) ([]OpInfo, error)
}

// OpInfo says what an operator call will do.
type OpInfo struct {
	WorkspaceSize int    // bytes of workspace that it needs
	KernelID      uint64 // a hash of the kernel's name: stable between processes and releases
	Kernel        string // its name
	Flops         uint64 // floating-point operations of the definition
	Bytes         uint64 // least memory traffic: each input read once, each output written once
	Launches      int    // kernel launches
	Deterministic bool   // the kernel gives the same bits every time
	Loaded        bool   // its code is loaded in this context
	Empty         bool   // a dimension is zero: nothing will be launched
}

func opInfo(info *C.spark_op_info) OpInfo {
	return OpInfo{
		WorkspaceSize: int(info.workspace_size),
		KernelID:      uint64(info.kernel_id),
		Kernel:        C.GoString(&info.kernel[0]),
		Flops:         uint64(info.flops),
		Bytes:         uint64(info.bytes),
		Launches:      int(info.launches),
		Deterministic: info.flags&C.SPARK_OP_INFO_DETERMINISTIC != 0,
		Loaded:        info.flags&C.SPARK_OP_INFO_LOADED != 0,
		Empty:         info.flags&C.SPARK_OP_INFO_EMPTY != 0,
	}
}

// frame is what one call hands to C. No field is a Go pointer: cgo lets all of it pass.
type frame struct {
	err  C.spark_error
	exec C.spark_exec
	args [largestArgs / 8]uint64
}

// call is an operator call in the making. Calls are used again, so that a launch allocates nothing.
type call struct {
	frame     *frame
	uses      []thing
	fields    []string // the operator's fields that these stand in
	workspace *Workspace
	err       *Error // what was wrong with an argument, before C could see it
}

var calls = sync.Pool{New: func() any { return &call{frame: new(frame)} }}

func newCall(op C.uint32_t, size uintptr) *call {
	c := calls.Get().(*call)
	c.frame.err = C.spark_error{struct_size: C.sizeof_spark_error}
	c.frame.exec = C.spark_exec{struct_size: C.sizeof_spark_exec}
	args := c.frame.args[:size/8]
	for i := range args {
		args[i] = 0
	}
	*c.head() = C.spark_args{struct_size: C.uint32_t(size), op: op}
	return c
}

// done gives the call back; it leads to nobody's memory any more.
func (c *call) done() {
	for i := range c.uses {
		c.uses[i] = nil
	}
	*c = call{frame: c.frame, uses: c.uses[:0], fields: c.fields[:0]}
	calls.Put(c)
}

func (c *call) args() unsafe.Pointer { return unsafe.Pointer(&c.frame.args) }

func (c *call) head() *C.spark_args { return (*C.spark_args)(c.args()) }

// tensor sets one argument, and notes the memory that it names.
func (c *call) tensor(into *C.spark_tensor, field string, t *Tensor) {
	*into = t.raw
	if t.err != nil {
		c.fail(field, t.err)
	}
	c.use(field, t.memory)
	for _, beside := range t.beside {
		c.use(field, beside)
	}
}

func (c *call) use(field string, m *memory) {
	if m == nil {
		return
	}
	if m.closed.Load() {
		c.fail(field, refuse(ErrInvalidHandle, "%s: %s is closed", field, m.name))
	}
	c.uses = append(c.uses, m)
	c.fields = append(c.fields, field)
}

// missing notes that a scalar without a default is absent.
func (c *call) missing(field string) {
	op := C.spark_op_describe(c.head().op)
	for i := C.uint32_t(0); op != nil && i < op.num_fields; i++ {
		if desc := C.spark_op_field(op.op, i); C.GoString(desc.name) == field {
			c.fail(field, refuse(ErrInvalidNull, "%s: %s is not set and has no default: %s", C.GoString(op.name), field,
				C.GoString(desc.doc)))
		}
	}
}

// fail notes the first error of an argument.
func (c *call) fail(field string, err *Error) {
	if c.err == nil {
		named := *err
		named.Field = field
		if op := C.spark_op_describe(c.head().op); op != nil {
			named.Op = C.GoString(op.name)
		}
		c.err = &named
	}
}

func (c *call) flag(bit C.uint32_t, on bool) {
	if on {
		c.head().flags |= bit
	}
}

func (c *call) options(deterministic, batchInvariant bool, workspace *Workspace, kernelID uint64) {
	c.flag(C.SPARK_FLAG_DETERMINISTIC, deterministic)
	c.flag(C.SPARK_FLAG_BATCH_INVARIANT, batchInvariant)
	c.frame.exec.kernel_id = C.uint64_t(kernelID)
	c.workspace = workspace
	if workspace != nil {
		c.uses = append(c.uses, workspace.buffer.thing())
		c.fields = append(c.fields, "")
		c.frame.exec.workspace = C.spark_devptr(workspace.buffer.Address())
		c.frame.exec.workspace_size = C.uint64_t(workspace.Len())
	}
}

func (c *call) launch(stream *Stream) error {
	defer c.done()
	if c.err != nil {
		return c.err
	}
	if c.workspace != nil && c.workspace.stream != stream {
		return refuse(ErrInvalidHandle, "the workspace belongs to another stream")
	}
	if i, err := stream.hold(c.uses); err != nil {
		if i < len(c.fields) && c.fields[i] != "" {
			c.fail(c.fields[i], err.(*Error))
			return c.err
		}
		return err
	}
	defer stream.let(c.uses)
	c.frame.exec.stream = stream.raw
	ctx := C.uintptr_t(uintptr(unsafe.Pointer(stream.ctx.raw)))
	if status := C.launch(ctx, c.head(), &c.frame.exec, &c.frame.err); status != C.SPARK_OK {
		return failure(status, &c.frame.err)
	}
	return nil
}

// ask makes a call that touches no device memory.
func (c *call) ask(ctx *Context, call func(err *C.spark_error) C.spark_status) error {
	if c.err != nil {
		return c.err
	}
	return ctx.call(call)
}

func (c *call) query(ctx *Context) (OpInfo, error) {
	defer c.done()
	info := C.spark_op_info{struct_size: C.sizeof_spark_op_info}
	err := c.ask(ctx, func(err *C.spark_error) C.spark_status {
		return C.spark_op_query(ctx.raw, c.head(), &info, err)
	})
	return opInfo(&info), err
}

func (c *call) prepare(ctx *Context) (OpInfo, error) {
	defer c.done()
	info := C.spark_op_info{struct_size: C.sizeof_spark_op_info}
	err := c.ask(ctx, func(err *C.spark_error) C.spark_status {
		return C.spark_op_prepare(ctx.raw, c.head(), &info, err)
	})
	return opInfo(&info), err
}

func (c *call) explain(ctx *Context) (string, error) {
	defer c.done()
	text, needed := make([]byte, 4096), C.size_t(0)
	for {
		err := c.ask(ctx, func(err *C.spark_error) C.spark_status {
			return C.spark_op_explain(ctx.raw, c.head(), (*C.char)(unsafe.Pointer(&text[0])), C.size_t(len(text)), &needed, err)
		})
		if err == nil {
			return string(text[:needed-1]), nil
		}
		if int(needed) <= len(text) {
			return "", err
		}
		text = make([]byte, needed)
	}
}

func (c *call) kernels(ctx *Context, workspaceLimit uint64) ([]OpInfo, error) {
	defer c.done()
	var raw []C.spark_op_info
	for {
		var count C.uint32_t
		var into *C.spark_op_info
		if len(raw) > 0 {
			into = &raw[0]
		}
		err := c.ask(ctx, func(err *C.spark_error) C.spark_status {
			return C.spark_op_kernels(ctx.raw, c.head(), C.uint64_t(workspaceLimit), into, C.uint32_t(len(raw)), &count, err)
		})
		if err != nil {
			return nil, err
		}
		if int(count) <= len(raw) {
			infos := make([]OpInfo, count)
			for i := range infos {
				infos[i] = opInfo(&raw[i])
			}
			return infos, nil
		}
		raw = make([]C.spark_op_info, count)
		for i := range raw {
			raw[i].struct_size = C.sizeof_spark_op_info
		}
	}
}
