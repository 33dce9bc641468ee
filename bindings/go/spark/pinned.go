// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// pinned is one allocation of the host. It is freed after the copies from and to it.
type pinned struct {
	handle
	streams
	address unsafe.Pointer

	mutex  sync.Mutex
	copied point   // behind the last copy, which came behind all others; raw is 0 before the first one
	by     *Stream // that copied last
}

func (p *pinned) common() *handle {
	if p == nil {
		return nil
	}
	return &p.handle
}

func (p *pinned) free() error {
	if err := p.streams.wait(); err != nil {
		return err
	}
	err := check(func(err *C.spark_error) C.spark_status { return C.spark_host_free(p.ctx.raw, p.address, err) })
	if err == nil && p.copied.raw != 0 {
		p.copied.destroy()
	}
	return err
}

// wait waits for the copies so far, and no longer.
func (p *pinned) wait() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.copied.raw == 0 {
		return nil
	}
	return p.copied.synchronize()
}

// copy enqueues a copy behind those of other streams, and notes where it ends; the caller holds the gate. What a graph
// repeats has no end.
func (p *pinned) copy(stream *Stream, call func(err *C.spark_error) C.spark_status) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if stream.mayBeRecording() {
		return check(call)
	}
	if p.copied.raw == 0 {
		made, err := newPoint(p.ctx)
		if err != nil {
			return err
		}
		p.copied = made
	} else if p.by != stream {
		if err := p.copied.precede(stream); err != nil {
			return err
		}
	}
	err := check(call)
	if failed := p.copied.record(stream); failed != nil {
		stream.wait() // so that nobody has to know where it ends
		return failed
	}
	p.by = stream
	return err
}

// Pinned is pinned memory of the host for a number of values: copies from and to it run beside the host.
//
// A copy goes on after its call. Slice, Read and Write wait for it, and no longer: later work of the stream goes on.
// Copies on several streams follow each other. A graph that has recorded a copy repeats it at every launch; for that,
// and for a slice from an earlier call, wait for the stream.
type Pinned[T Element] struct {
	memory *pinned
	length int
}

// NewPinned allocates memory that is full of zeros.
func NewPinned[T Element](ctx *Context, length int) (*Pinned[T], error) {
	bytes, err := bytesOf[T](length)
	if err != nil {
		return nil, err
	}
	made := new(pinned)
	made, err = create(ctx, made, "the pinned memory", func(err *C.spark_error) C.spark_status {
		return C.spark_host_alloc(ctx.raw, bytes, &made.address, err)
	})
	if err != nil {
		return nil, err
	}
	p := &Pinned[T]{made, length}
	var zero T
	for i := range p.values() {
		p.values()[i] = zero
	}
	return p, nil
}

// PinnedOf copies values to new pinned memory.
func PinnedOf[T Element](ctx *Context, values []T) (*Pinned[T], error) {
	made, err := NewPinned[T](ctx, len(values))
	if err == nil {
		copy(made.values(), values)
	}
	return made, err
}

func (p *Pinned[T]) values() []T { return unsafe.Slice((*T)(p.memory.address), p.length) }

func (p *Pinned[T]) thing() *pinned {
	if p == nil {
		return nil
	}
	return p.memory
}

// Close frees the memory when the copies that were enqueued with it are done, and no graph uses it. What Slice gave is
// void from then on.
func (p *Pinned[T]) Close() error { return closeThing(p.thing()) }

// Len says how many values it holds.
func (p *Pinned[T]) Len() int {
	if p == nil {
		return 0
	}
	return p.length
}

// Slice gives the values themselves, when the copies so far are done. They are no memory of Go: after Close they must
// not be touched, and from the first Slice on nothing but Close frees them.
func (p *Pinned[T]) Slice() ([]T, error) {
	if err := acquire(p.thing()); err != nil {
		return nil, err
	}
	defer release(p.memory)
	runtime.SetFinalizer(p.memory, nil) // the slice does not lead to its owner
	if err := p.memory.wait(); err != nil {
		return nil, err
	}
	return p.values(), nil
}

// Read copies the values from at on, when the copies so far are done.
func (p *Pinned[T]) Read(at int, values []T) error {
	return p.access(at, len(values), func(here []T) { copy(values, here) })
}

// Write sets the values from at on, when the copies so far are done.
func (p *Pinned[T]) Write(at int, values []T) error {
	return p.access(at, len(values), func(here []T) { copy(here, values) })
}

func (p *Pinned[T]) access(at, count int, do func(here []T)) error {
	if err := acquire(p.thing()); err != nil {
		return err
	}
	defer release(p.memory)
	if err := within(at, count, p.length); err != nil {
		return err
	}
	if err := p.memory.wait(); err != nil {
		return err
	}
	do(p.values()[at : at+count])
	return nil
}

// WriteAsync enqueues a copy of count values of pinned memory, from its value first on, to the values from at on.
func (b *Buffer[T]) WriteAsync(stream *Stream, at int, source *Pinned[T], first, count int) error {
	return b.copyAsync(stream, at, source, first, count, func(host unsafe.Pointer, device C.spark_devptr,
		bytes C.uint64_t, err *C.spark_error) C.spark_status {
		return C.spark_mem_copy_to_device_async(stream.ctx.raw, device, host, bytes, stream.raw, err)
	})
}

// ReadAsync enqueues a copy of the values from at on to pinned memory: to count values there, from its value first on.
func (b *Buffer[T]) ReadAsync(stream *Stream, at int, target *Pinned[T], first, count int) error {
	return b.copyAsync(stream, at, target, first, count, func(host unsafe.Pointer, device C.spark_devptr,
		bytes C.uint64_t, err *C.spark_error) C.spark_status {
		return C.spark_mem_copy_to_host_async(stream.ctx.raw, host, device, bytes, stream.raw, err)
	})
}

func (b *Buffer[T]) copyAsync(stream *Stream, at int, host *Pinned[T], first, count int,
	call func(host unsafe.Pointer, device C.spark_devptr, bytes C.uint64_t, err *C.spark_error) C.spark_status) error {
	uses := []thing{b.thing(), host.thing()}
	if _, err := stream.hold(uses); err != nil {
		return err
	}
	defer stream.let(uses)
	if err := within(at, count, b.length); err != nil {
		return err
	}
	if err := within(first, count, host.length); err != nil || count == 0 {
		return err
	}
	part := host.values()[first : first+count]
	bytes := C.uint64_t(count) * C.uint64_t(unsafe.Sizeof(part[0]))
	return host.memory.copy(stream, func(err *C.spark_error) C.spark_status {
		return call(unsafe.Pointer(&part[0]), b.at(at), bytes, err)
	})
}
