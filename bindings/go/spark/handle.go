// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
)

// thing is what is freed in the end: a context, a stream, an event, a graph, device memory.
type thing interface {
	common() *handle
	free() error // ends it in the library; called once
}

// handle is what all things have. It must not lead back to its thing, which the garbage collector would then never
// find unreachable.
type handle struct {
	name   string
	ctx    *Context     // where it was made, kept for as long; nil in a context
	users  atomic.Int64 // the owner, calls in progress, graphs; freed at 0
	closed atomic.Bool
	kept   []thing // what it uses, held until it is freed
}

func (h *handle) common() *handle { return h }

// adopt gives a thing its first user, the owner. The caller's hold of the context passes to the thing.
func adopt[T thing](made T, name string, ctx *Context) T {
	h := made.common()
	h.name, h.ctx = name, ctx
	h.users.Store(1)
	// Freeing may wait for the device, and finalizers share one goroutine.
	runtime.SetFinalizer(made, func(left T) { go closeThing(left) })
	return made
}

// acquire holds a thing for a call; it fails once the owner has closed it.
func acquire(t thing) error {
	h := t.common()
	if h == nil {
		return &Error{Status: ErrInvalidNull, Message: fmt.Sprintf("a %T is nil", t)}
	}
	for !h.closed.Load() {
		users := h.users.Load()
		if users <= 0 {
			break
		}
		if h.users.CompareAndSwap(users, users+1) {
			return nil
		}
	}
	name := h.name
	if name == "" {
		name = fmt.Sprintf("a %T", t)
	}
	return &Error{Status: ErrInvalidHandle, Message: name + " is closed"}
}

// release ends a hold; the last one frees the thing.
func release(t thing) error {
	h := t.common()
	if h.users.Add(-1) != 0 {
		return nil
	}
	if h.ctx == nil {
		return t.free()
	}
	return h.ctx.leave(t)
}

func closeThing(t thing) error {
	h := t.common()
	if h == nil || h.users.Load() <= 0 || h.closed.Swap(true) {
		return nil
	}
	runtime.SetFinalizer(t, nil)
	return release(t)
}

// leave frees a thing whose work is done: now, or after the captures in progress, which waiting for a stream or freeing
// memory would break. What cannot be waited for (a device that failed) is never freed.
func (c *Context) leave(t thing) error {
	c.postpone(t)
	return c.sweep()
}

func (c *Context) postpone(t thing) {
	c.lateMutex.Lock()
	c.late = append(c.late, t)
	c.lateMutex.Unlock()
}

// sweep frees what was left, unless a capture is in progress. Under a capture of another context that may be refused,
// and is tried again with the next thing that ends.
func (c *Context) sweep() error {
	c.gate.RLock()
	if len(c.captures) > 0 {
		c.gate.RUnlock()
		return nil
	}
	c.lateMutex.Lock()
	late := c.late
	c.late = nil
	c.lateMutex.Unlock()
	var freed []thing
	var err error
	for _, t := range late {
		failed := t.free()
		switch {
		case failed == nil:
			freed = append(freed, t)
		case errors.Is(failed, ErrInvalidCapture):
			c.postpone(t)
		default:
			err = failed
		}
	}
	c.gate.RUnlock() // what follows may free other things
	for _, t := range freed {
		for _, used := range append(t.common().kept, c) {
			if failed := release(used); failed != nil {
				err = failed
			}
		}
	}
	return err
}
