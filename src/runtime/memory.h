// SPDX-License-Identifier: Apache-2.0
// Device memory, streams, events and graphs: thin calls on the driver, inside a context. Used by api/ only.
#pragma once

#include "runtime/context.h"

namespace spark {

spark_status mem_alloc(const spark_context& ctx, uint64_t bytes, spark_devptr& out, Report& report);
spark_status mem_free(const spark_context& ctx, spark_devptr data, Report& report);
spark_status mem_info(const spark_context& ctx, uint64_t& free_bytes, uint64_t& total_bytes, Report& report);
spark_status copy_to_device(const spark_context& ctx, spark_devptr dst, const void* src, uint64_t bytes,
                            spark_stream stream, Report& report);
spark_status copy_to_host(const spark_context& ctx, void* dst, spark_devptr src, uint64_t bytes, spark_stream stream,
                          Report& report);
spark_status copy(const spark_context& ctx, spark_devptr dst, spark_devptr src, uint64_t bytes, spark_stream stream,
                  Report& report);
spark_status set(const spark_context& ctx, spark_devptr dst, uint32_t value, uint64_t bytes, spark_stream stream,
                 Report& report);

spark_status stream_create(const spark_context& ctx, spark_stream& out, Report& report);
spark_status stream_destroy(const spark_context& ctx, spark_stream stream, Report& report);
spark_status stream_synchronize(const spark_context& ctx, spark_stream stream, Report& report);
spark_status stream_query(const spark_context& ctx, spark_stream stream, uint32_t& done, Report& report);
spark_status stream_wait_event(const spark_context& ctx, spark_stream stream, spark_event event, Report& report);

spark_status event_create(const spark_context& ctx, spark_event& out, Report& report);
spark_status event_destroy(const spark_context& ctx, spark_event event, Report& report);
spark_status event_record(const spark_context& ctx, spark_event event, spark_stream stream, Report& report);
spark_status event_synchronize(const spark_context& ctx, spark_event event, Report& report);
spark_status event_query(const spark_context& ctx, spark_event event, uint32_t& done, Report& report);
spark_status event_elapsed(const spark_context& ctx, spark_event begin, spark_event end, float& milliseconds,
                           Report& report);

spark_status graph_begin(const spark_context& ctx, spark_stream stream, Report& report);
spark_status graph_end(const spark_context& ctx, spark_stream stream, spark_graph& out, Report& report);
spark_status graph_launch(const spark_context& ctx, spark_graph graph, spark_stream stream, Report& report);
spark_status graph_destroy(const spark_context& ctx, spark_graph graph, Report& report);

} // namespace spark
