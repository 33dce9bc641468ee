// SPDX-License-Identifier: Apache-2.0
// A case is an outline here: what numbers it has (positions, lengths, settings) go to the device, all else is random
// there. Rows rotate over enough copies that no cache holds them from one launch to the next.
#include "problems.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

constexpr uint64_t BEYOND_CACHE = uint64_t{512} << 20;
constexpr uint64_t MOST_COPIES = 64, MOST_MEMORY = uint64_t{8} << 30;
constexpr uint32_t MOST_KERNELS = 32;
constexpr uint64_t MANY_FLOPS = uint64_t{1} << 36; // too many for a kernel that takes one product after the other
constexpr uint64_t FEW_RESULTS = 16;               // a row that writes less than such a part of what it has is a read

using Args = std::vector<uint8_t>; // an operator's struct

void must(spark_status status, const std::string& what, const spark_error& err) {
    if (status != SPARK_OK) throw std::runtime_error(what + ": " + err.message);
}

const spark_args* head(const Args& args) { return reinterpret_cast<const spark_args*>(args.data()); }

// What can do the work of these arguments, the library's choice first.
std::vector<spark_op_info> kernels_for(spark_context* ctx, const Args& args, bool rivals, const std::string& name) {
    spark_error err{};
    err.struct_size = sizeof err;
    spark_op_info blank{};
    blank.struct_size = sizeof blank;
    if (!rivals) {
        must(spark_op_prepare(ctx, head(args), &blank, &err), name, err);
        return {blank};
    }
    std::vector<spark_op_info> infos(MOST_KERNELS, blank);
    uint32_t count = 0;
    must(spark_op_kernels(ctx, head(args), UINT64_MAX, infos.data(), MOST_KERNELS, &count, &err), name, err);
    infos.resize(std::min(count, MOST_KERNELS));
    return infos;
}

std::string explained(spark_context* ctx, const Args& args) {
    spark_error err{};
    err.struct_size = sizeof err;
    size_t size = 0;
    spark_op_explain(ctx, head(args), nullptr, 0, &size, nullptr);
    std::string text(size, 0);
    must(spark_op_explain(ctx, head(args), text.data(), text.size(), &size, &err), "spark_op_explain", err);
    text.resize(text.find('\0'));
    return text;
}

// Memory that all launches of a row share, since they follow each other in a stream.
std::shared_ptr<spark_devptr> workspace_of(spark_context* ctx, uint64_t bytes, const std::string& name) {
    spark_error err{};
    err.struct_size = sizeof err;
    const std::shared_ptr<spark_devptr> memory(new spark_devptr(0), [ctx](spark_devptr* data) {
        if (*data != 0) spark_mem_free(ctx, *data, nullptr);
        delete data;
    });
    const spark_status status = bytes == 0 ? SPARK_OK : spark_mem_alloc(ctx, bytes, memory.get(), &err);
    if (status == SPARK_ERR_DEVICE_MEMORY) throw NoMemory(err.message);
    must(status, name, err);
    return memory;
}

// What one launch of a case works on: FLOPs, and bytes that it reads and writes, as the library counts them.
spark_op_info work_of(spark_context* ctx, const Args& args, const std::string& name) {
    spark_error err{};
    err.struct_size = sizeof err;
    spark_op_info info{};
    info.struct_size = sizeof info;
    must(spark_op_query(ctx, head(args), &info, &err), name, err);
    return info;
}

// Some operand that stands in a storage is read; is written.
bool is_read(const check::Case& c, size_t storage) {
    return std::ranges::any_of(
        c.operands, [&](const check::Operand& operand) { return operand.storage == storage && operand.input; });
}
bool is_written(const check::Case& c, size_t storage) {
    return std::ranges::any_of(
        c.operands, [&](const check::Operand& operand) { return operand.storage == storage && operand.output; });
}

// Memory for a storage of which the host knows nothing.
uint64_t memory_for(Buffers& buffers, const check::Case& c, size_t storage, spark_dtype dtype) {
    const uint64_t bytes = c.size_of(storage);
    if (!is_read(c, storage)) return buffers.result(bytes);
    return is_written(c, storage) ? buffers.updated(dtype, bytes) : buffers.random(dtype, bytes);
}

// Bytes are scales, of either kind, or codes.
spark_dtype held_in(const check::Case& c, const check::Operand& operand) {
    const bool powers = operand.view.type == ref::Type::u8 && c.storages[operand.storage].name.ends_with("scale");
    return powers ? SPARK_DTYPE_UE8M0 : check::dtype_of(operand.view.type);
}

// The arguments of a case, on memory of their own.
Args place(Buffers& buffers, const check::Case& c) {
    Args args = c.args;
    std::vector<uint64_t> data(c.storages.size());
    for (const check::Operand& operand : c.operands) {
        uint64_t& start = data[operand.storage];
        if (start == 0) {
            const std::vector<uint8_t>& known = c.storages[operand.storage].bytes;
            start =
                known.empty() ? memory_for(buffers, c, operand.storage, held_in(c, operand)) : buffers.copied(known);
        }
        const uint64_t address = start + operand.offset;
        std::memcpy(&args[operand.args_offset], &address, sizeof address);
    }
    return args;
}

// The loop that multiplies what a case multiplies: codes beside halves are multiplied as halves; of F32 as TF32 at most
// half, and in two of BF16 a third, of what that does.
const char* loop_of(const check::Case& c) {
    bool halves = false, integers = false, floats_alone = true;
    for (const check::Operand& o : c.operands) {
        if (!o.input) continue;
        halves |= o.view.type == ref::Type::bf16 || o.view.type == ref::Type::f16;
        integers |= o.view.type == ref::Type::i8;
        floats_alone &= o.view.type == ref::Type::f32;
    }
    const auto& header = *reinterpret_cast<const spark_args*>(c.args.data());
    const bool split = c.op == "gemm" && (header.flags & (SPARK_GEMM_TF32 | SPARK_GEMM_BF16X3)) != 0;
    return floats_alone && !split ? "fma_f32" : integers && !halves ? "mma_s8" : "mma_bf16";
}

// What a run has to do, beside which ceiling.
std::vector<Work> works_of(const check::Case& c, const spark_op_info& info) {
    uint64_t all = 0, results = 0;
    for (size_t i = 0; i < c.storages.size(); ++i) {
        all += c.size_of(i);
        results += is_read(c, i) ? 0 : c.size_of(i);
    }
    const bool updates = std::ranges::any_of(c.operands, [](const check::Operand& o) { return o.output && o.input; });
    const bool reads = !updates && results * FEW_RESULTS < all;
    std::vector<Work> works = {{Unit::bytes, static_cast<double>(info.bytes), reads ? "read" : "copy"}};
    if (info.flops != 0) works.push_back({Unit::flops, static_cast<double>(info.flops), loop_of(c)});
    return works;
}

size_t copies(const spark_op_info& info, const check::Case& c) {
    uint64_t memory = 1;
    for (size_t i = 0; i < c.storages.size(); ++i) memory += c.size_of(i);
    const uint64_t most = std::clamp<uint64_t>(MOST_MEMORY / memory, 2, MOST_COPIES);
    return std::clamp<uint64_t>(BEYOND_CACHE / std::max<uint64_t>(info.bytes, 1) + 1, 2, most);
}

// The ways of an item: each launches args[i] in turn. All of them have one kernel, since they differ only in addresses
// and numbers.
void add_ways(Item& item, spark_context* ctx, const std::vector<spark_op_info>& infos, std::vector<Args> args) {
    uint64_t bytes = 0;
    for (const spark_op_info& info : infos) bytes = std::max(bytes, info.workspace_size);
    const auto workspace = workspace_of(ctx, bytes, item.name);
    item.explain = [ctx, first = args[0]] { return explained(ctx, first); };
    item.query = [ctx, first = args[0]] {
        spark_op_info info{};
        info.struct_size = sizeof info;
        spark_op_query(ctx, head(first), &info, nullptr);
    };
    const auto shared = std::make_shared<std::vector<Args>>(std::move(args));
    for (const spark_op_info& info : infos) {
        Way way;
        way.kernel = info.kernel, way.launches = info.launches, way.workspace = info.workspace_size;
        spark_exec exec{};
        exec.struct_size = sizeof exec;
        exec.workspace = *workspace, exec.workspace_size = bytes;
        exec.kernel_id = &info == &infos[0] ? 0 : info.kernel_id; // 0: whatever the library chooses
        auto turn = std::make_shared<size_t>(0);
        way.run = [ctx, exec, shared, turn, workspace](spark_stream stream) {
            spark_exec where = exec;
            where.stream = stream;
            spark_error err{};
            err.struct_size = sizeof err;
            if (spark_op_launch(ctx, head((*shared)[(*turn)++ % shared->size()]), &where, &err) != SPARK_OK)
                throw std::runtime_error(err.message);
        };
        item.ways.push_back(std::move(way));
    }
}

} // namespace

void add_row(Rows& rows, const check::Entry& entry) {
    if ((entry.op + " " + entry.name).find(rows.only) == std::string::npos) return;
    spark_context* ctx = rows.buffers.context();
    const check::Case first = entry.build(check::Seed(0, true));
    rows.buffers.next_row();
    std::vector<Args> args = {place(rows.buffers, first)};
    const spark_op_info info = work_of(ctx, args[0], entry.op);
    if (info.flops >= MANY_FLOPS && std::string_view(info.kernel).ends_with("__generic")) {
        std::fprintf(stderr, "%s %s: skipped, this chip has no such product, and %s is no measure\n", entry.op.c_str(),
                     entry.name.c_str(), info.kernel);
        return;
    }
    Item item;
    item.name = entry.op, item.shape = entry.name;
    item.works = works_of(first, info);
    const size_t turns = copies(info, first);
    while (args.size() < turns) args.push_back(place(rows.buffers, entry.build(check::Seed(args.size(), true))));
    const std::vector<spark_op_info> infos = kernels_for(ctx, args[0], rows.rivals, entry.op);
    add_ways(item, ctx, infos, std::move(args));
    rows.items.push_back(std::move(item));
}

} // namespace bench
