// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
// #include <stdlib.h>
import "C"

import (
	"sync"
	"unsafe"
)

// Context is a context of the library on one device. It ends when it is closed and all that was made in it is.
type Context struct {
	handle
	raw *C.spark_context

	// Held for reading while work is enqueued or a thing is freed, for writing where a capture begins or ends: so that
	// each piece of work is known to every capture that may have recorded it.
	gate     sync.RWMutex
	captures map[*recording]bool

	lateMutex sync.Mutex
	late      []thing // closed during a capture
	expected  []*first
}

// Arch is a compute capability without its dot.
type Arch uint32

const (
	SM120 Arch = 120 // GeForce RTX 50, RTX PRO 6000 Blackwell
	SM121 Arch = 121 // GB10
	SM90  Arch = 90  // H100, H200: for testing
)

// DeviceInfo is a device as the library sees it.
type DeviceInfo struct {
	Device        int // its number; -1 in an offline context
	Name          string
	Arch          Arch
	SMs           int    // multiprocessors
	MemoryBytes   uint64 // all of it
	DriverVersion int    // as the driver says it: 13000 is 13.0
	Supported     bool   // a context can be made
	Reason        string // why not
	Emulated      bool   // it is the emulator
}

// DeviceCount says how many devices the driver has.
func DeviceCount() (int, error) {
	var count C.int32_t
	err := check(func(err *C.spark_error) C.spark_status { return C.spark_device_count(&count, err) })
	return int(count), err
}

// QueryDevice says what a device is, also one that is not supported.
func QueryDevice(device int) (DeviceInfo, error) {
	info := C.spark_device_info{struct_size: C.sizeof_spark_device_info}
	err := check(func(err *C.spark_error) C.spark_status {
		return C.spark_device_query(C.int32_t(device), &info, err)
	})
	return deviceInfo(&info), err
}

func deviceInfo(info *C.spark_device_info) DeviceInfo {
	return DeviceInfo{
		Device:        int(info.device),
		Name:          C.GoString(&info.name[0]),
		Arch:          Arch(info.cc_major*10 + info.cc_minor),
		SMs:           int(info.sm_count),
		MemoryBytes:   uint64(info.memory_bytes),
		DriverVersion: int(info.driver_version),
		Supported:     info.supported != 0,
		Reason:        C.GoString(&info.reason[0]),
		Emulated:      info.emulated != 0,
	}
}

// ContextOptions say what a context is like; the zero value is that of NewContext(0).
type ContextOptions struct {
	Device      int    // its number
	OfflineArch Arch   // without a device, for this one: the context answers Query, Explain and Kernels
	CUContext   uint64 // a CUcontext of other software, given as an integer; 0 is the device's primary context

	// Tuning is the path of a tuning file, read once, when the context is made; without one that of LIBSPARK_TUNE
	// counts. One for another chip or library is left out, with a warning in the log.
	Tuning string
}

// NewContext makes a context on the device with this number, in the device's primary context.
func NewContext(device int) (*Context, error) { return NewContextWith(ContextOptions{Device: device}) }

// NewOfflineContext makes a context without a device: it answers Query, Explain and Kernels.
func NewOfflineContext(arch Arch) (*Context, error) {
	return NewContextWith(ContextOptions{OfflineArch: arch})
}

// NewContextIn makes a context inside a CUcontext of other software, given as an integer. That must be a context of the
// device, and outlive all that is made here.
func NewContextIn(device int, cuContext uint64) (*Context, error) {
	return NewContextWith(ContextOptions{Device: device, CUContext: cuContext})
}

// NewContextWith makes a context with a tuning file, or as its options say otherwise. A file that is missing or damaged
// is an ErrInvalidValue.
func NewContextWith(options ContextOptions) (*Context, error) {
	path := C.CString(options.Tuning) // which, unlike a string of Go, does not move
	defer C.free(unsafe.Pointer(path))
	desc := C.spark_context_desc{
		struct_size:       C.sizeof_spark_context_desc,
		device:            C.int32_t(options.Device),
		offline_arch:      C.uint32_t(options.OfflineArch),
		cu_context:        C.uint64_t(options.CUContext),
		tuning_path:       C.uint64_t(uintptr(unsafe.Pointer(path))),
		tuning_path_bytes: C.uint64_t(len(options.Tuning)),
	}
	var raw *C.spark_context
	err := check(func(err *C.spark_error) C.spark_status { return C.spark_context_create(&desc, &raw, err) })
	if err != nil {
		return nil, err
	}
	return adopt(&Context{raw: raw, captures: map[*recording]bool{}}, "the context", nil), nil
}

func (c *Context) common() *handle {
	if c == nil {
		return nil
	}
	return &c.handle
}

func (c *Context) free() error {
	C.spark_context_destroy(c.raw)
	return nil
}

// Close ends the context, after all that was made in it.
func (c *Context) Close() error {
	if err := acquire(c); err == nil {
		c.sweep() // what was refused under captures of other contexts
		release(c)
	}
	return closeThing(c)
}

// call makes one call of the library that needs the context.
func (c *Context) call(call func(err *C.spark_error) C.spark_status) error {
	if err := acquire(c); err != nil {
		return err
	}
	defer release(c)
	return check(call)
}

// Device says what device this is.
func (c *Context) Device() (DeviceInfo, error) {
	info := C.spark_device_info{struct_size: C.sizeof_spark_device_info}
	err := c.call(func(err *C.spark_error) C.spark_status { return C.spark_context_device(c.raw, &info, err) })
	return deviceInfo(&info), err
}

// Memory says how many bytes of device memory are free, and how many there are.
func (c *Context) Memory() (free, total uint64, err error) {
	var left, all C.uint64_t
	err = c.call(func(err *C.spark_error) C.spark_status { return C.spark_mem_info(c.raw, &left, &all, err) })
	return uint64(left), uint64(all), err
}

// Preload loads the code of every operator's kernels, so that no later launch has to.
func (c *Context) Preload() error {
	return c.call(func(err *C.spark_error) C.spark_status {
		return C.spark_context_preload(c.raw, C.SPARK_OP_NONE, err)
	})
}

// create makes a thing in the context, which it then holds; call fills in what the library gives.
func create[T thing](c *Context, made T, name string, call func(err *C.spark_error) C.spark_status) (T, error) {
	var none T
	if err := acquire(c); err != nil {
		return none, err
	}
	if err := check(call); err != nil {
		release(c)
		return none, err
	}
	return adopt(made, name, c), nil
}
