// SPDX-License-Identifier: Apache-2.0

package spark

import (
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
	c.gate.RLock()
	if len(c.captures) > 0 {
		c.lateMutex.Lock()
		c.late = append(c.late, t)
		c.lateMutex.Unlock()
		c.gate.RUnlock()
		return nil
	}
	err := t.free()
	c.gate.RUnlock() // what follows may free other things
	if err != nil {
		return err
	}
	for _, kept := range t.common().kept {
		if failed := release(kept); failed != nil {
			err = failed
		}
	}
	if failed := release(c); failed != nil {
		err = failed
	}
	return err
}
