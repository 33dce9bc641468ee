// SPDX-License-Identifier: Apache-2.0
// Order of execution. An op is ready when the ops it depends on are done; one op executes at a time (a kernel uses the
// host's cores by itself). The thread that needs progress becomes the executor; others wait or go on submitting.
//
//   sched=round_robin   eager: an op runs when it is submitted, in order of submission
//   any other sched     deferred: ops wait for a synchronising call and then run in an order drawn from the seed,
//                       so that only what streams and events promise can be relied upon. A launch with programmatic
//                       serialization begins before the kernel before it (sched=random: sometimes), which then runs
//                       when all of it that can run at a time waits at griddepcontrol.wait
#pragma once

#include "emu/driver/state.h"

namespace emu::driver {

using Ops = std::vector<std::shared_ptr<Op>>;

// All of these are called with the state lock held; those that take it give it up while an op executes.
std::shared_ptr<Op> add_op(const std::shared_ptr<Context>& context, Work work, const Ops& after);
Ops predecessors(const Stream& stream); // what the next op of this stream must wait for
std::shared_ptr<Op> append(const std::shared_ptr<Stream>& stream, Work work); // add_op in stream order
void run_eagerly(Lock& lock);
void run_one(Lock& lock);                                     // for queries: so that polling ends
bool is_done(const std::shared_ptr<Op>& op);                  // if so, what is submitted from now on comes after it
CUresult wait_for(Lock& lock, const std::shared_ptr<Op>& op); // null, done: nothing to wait for
CUresult wait_for_context(Lock& lock, const std::shared_ptr<Context>& context);
void wait_for_memory(Lock& lock); // until no op that touches memory is executing: before (de)allocating
void reseed(uint64_t seed);

// The way in for stream work: resolves the stream, and captures or runs.
CUresult submit(Lock& lock, CUstream stream, Work work, bool wait = false);

} // namespace emu::driver
