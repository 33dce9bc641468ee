// SPDX-License-Identifier: Apache-2.0
// Memory, peers, streams, events and graphs: thin calls on the driver, inside a context. Used by api/ only.
#pragma once

#include "runtime/objects.h"

namespace spark {

// Of memory that is read or written: the driver would only say that some argument is wrong, and end a capture by it.
inline spark_status need_address(spark_devptr address, const char* name, Report& report) {
    return address != 0 ? SPARK_OK : report.fail(SPARK_ERR_INVALID_NULL, "%s is 0; a device address wanted", name);
}

spark_status mem_alloc(const Context& ctx, uint64_t bytes, spark_devptr& out, Report& report);
spark_status mem_free(const Context& ctx, spark_devptr data, Report& report);
spark_status mem_alloc_async(const Context& ctx, uint64_t bytes, const Stream& stream, spark_devptr& out,
                             Report& report);
spark_status mem_free_async(const Context& ctx, spark_devptr data, const Stream& stream, Report& report);
spark_status host_alloc(const Context& ctx, uint64_t bytes, void*& out, Report& report);
spark_status host_free(const Context& ctx, void* data, Report& report);
spark_status mem_info(const Context& ctx, uint64_t& free_bytes, uint64_t& total_bytes, Report& report);
// `wait`: until the copy is done, so that the host memory is free, or filled, on return.
spark_status copy_to_device(const Context& ctx, spark_devptr dst, const void* src, uint64_t bytes, const Stream& stream,
                            bool wait, Report& report);
spark_status copy_to_host(const Context& ctx, void* dst, spark_devptr src, uint64_t bytes, const Stream& stream,
                          bool wait, Report& report);
spark_status copy(const Context& ctx, spark_devptr dst, spark_devptr src, uint64_t bytes, const Stream& stream,
                  Report& report);
spark_status set(const Context& ctx, spark_devptr dst, uint32_t value, uint64_t bytes, const Stream& stream,
                 Report& report);

spark_status peer_can_access(const Context& ctx, const Context& peer, uint32_t& can, Report& report);
spark_status peer_enable(const Context& ctx, const Context& peer, Report& report);
struct Peers {
    const Context &dst, &src;
};
spark_status copy_peer(const Peers& peers, spark_devptr dst, spark_devptr src, uint64_t bytes, const Stream& stream,
                       Report& report);

spark_status stream_create(const Context& ctx, const spark_stream_desc& desc, spark_stream& out, Report& report);
spark_status stream_synchronize(const Context& ctx, const Stream& stream, Report& report);
spark_status stream_query(const Context& ctx, const Stream& stream, uint32_t& done, Report& report);
spark_status stream_wait_event(const Context& ctx, const Stream& stream, const Event& event, Report& report);

spark_status event_create(const Context& ctx, const spark_event_desc& desc, spark_event& out, Report& report);
spark_status event_record(const Context& ctx, const Event& event, const Stream& stream, Report& report);
spark_status event_synchronize(const Context& ctx, const Event& event, Report& report);
spark_status event_query(const Context& ctx, const Event& event, uint32_t& done, Report& report);
spark_status event_elapsed(const Context& ctx, const Event& begin, const Event& end, float& milliseconds,
                           Report& report);

spark_status graph_begin(const Context& ctx, const Stream& stream, const spark_graph_desc& desc, Report& report);
spark_status graph_end(const Context& ctx, const Stream& stream, spark_graph& out, Report& report);
spark_status graph_end_update(const Context& ctx, const Stream& stream, const Graph& graph, Report& report);
spark_status graph_launch(const Context& ctx, const Graph& graph, const Stream& stream, Report& report);

} // namespace spark
