// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

// CanAccess says whether kernels of this context can be let read and write memory of peer; not where both are on one
// device.
func (c *Context) CanAccess(peer *Context) (bool, error) {
	var can C.uint32_t
	err := c.with(peer, func(err *C.spark_error) C.spark_status {
		return C.spark_peer_can_access(c.raw, peer.raw, &can, err)
	})
	return can != 0, err
}

// EnablePeer lets them, until one of the two contexts ends; the other direction takes a call of its own. Memory that
// was allocated in stream order stays out of reach. Operators here still take memory of their own context, and
// CopyFromPeer becomes faster.
func (c *Context) EnablePeer(peer *Context) error {
	return c.with(peer, func(err *C.spark_error) C.spark_status { return C.spark_peer_enable(c.raw, peer.raw, err) })
}

// with makes one call of the library that needs two contexts.
func (c *Context) with(peer *Context, call func(err *C.spark_error) C.spark_status) error {
	if err := acquire(peer); err != nil {
		return err
	}
	defer release(peer)
	return c.call(call)
}

// CopyFromPeer enqueues a copy of a buffer of the same length in another context, on a stream of either. It needs no
// peer access.
func (b *Buffer[T]) CopyFromPeer(stream *Stream, source *Buffer[T]) error {
	uses := []thing{b.thing(), source.thing()}
	if _, err := stream.holdOf(uses, true); err != nil {
		return err
	}
	defer stream.let(uses)
	if stream.ctx != b.memory.ctx && stream.ctx != source.memory.ctx {
		return refuse(ErrInvalidHandle, "the stream belongs to neither of the two contexts")
	}
	if source.length != b.length {
		return refuse(ErrInvalidShape, "source has %d values; %d wanted", source.length, b.length)
	}
	to, from := b.memory, source.memory
	return check(func(err *C.spark_error) C.spark_status {
		return C.spark_mem_copy_peer(to.ctx.raw, to.address, from.ctx.raw, from.address, b.bytes(), stream.raw, err)
	})
}
