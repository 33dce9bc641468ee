// SPDX-License-Identifier: Apache-2.0
// A caller of another release: runs every operator with args structs of the sizes that a file names ("gemm 1320"
// a line), and prints a hash of what each wrote. Run by callers_test.py with this release's library and the next one's.
#include "example.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sys/mman.h>
#include <unistd.h>

namespace {

// A copy of an args struct that ends where readable memory ends: one byte read behind struct_size is a crash.
class LastBytes {
public:
    LastBytes(api::Example& example, size_t size) : size_(size) {
        const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        whole_ = (size + page - 1) / page * page;
        base_ = static_cast<char*>(mmap(nullptr, whole_ + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mapped_ = whole_ + page;
        mprotect(base_, whole_, PROT_READ | PROT_WRITE);
        std::memcpy(first(), example.bytes().data(), std::min(size, example.bytes().size()));
        head()->struct_size = static_cast<uint32_t>(size);
    }
    ~LastBytes() { munmap(base_, mapped_); }
    LastBytes(const LastBytes&) = delete;
    LastBytes& operator=(const LastBytes&) = delete;

    char* first() { return base_ + whole_ - size_; }
    spark_args* head() { return reinterpret_cast<spark_args*>(first()); }

private:
    char* base_;
    size_t size_, whole_, mapped_;
};

const spark_op_desc* named(const std::string& name) {
    for (uint32_t i = 0; i < spark_op_count(); ++i)
        if (name == spark_op_at(i)->name) return spark_op_at(i);
    return nullptr;
}

uint64_t hash_of_outputs(spark_context* ctx, const api::Example& example) {
    uint64_t hash = 0xcbf29ce484222325;
    for (uint32_t f = 0; f < example.desc().num_fields; ++f) {
        if (api::field(example.desc(), f).kind != SPARK_KIND_TENSOR || example.tensor(f).ndim == 0) continue;
        std::vector<unsigned char> bytes(example.allocated(f));
        spark_mem_copy_to_host(ctx, bytes.data(), example.tensor(f).data, bytes.size(), 0, nullptr);
        for (unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
    }
    return hash;
}

int failed(const std::string& op, const char* what, const spark_error& err) {
    std::printf("%s: %s: %s\n", op.c_str(), what, err.message);
    return 1;
}

// A newer caller that sets its new field: refused, and the sentence names the byte.
int refuses_the_last_byte(spark_context* ctx, const std::string& op, LastBytes& args, uint32_t known, uint32_t size) {
    spark_error err{};
    err.struct_size = sizeof err;
    args.first()[size - 1] = 1;
    const std::string byte = "byte " + std::to_string(size - 1) + " is not 0";
    const spark_status status = spark_op_launch(ctx, args.head(), nullptr, &err);
    args.first()[size - 1] = 0;
    if (status != SPARK_ERR_INVALID_STRUCT_SIZE || !std::strstr(err.message, byte.c_str()))
        return failed(op, "a set field that this library does not know was not refused by its place", err);
    std::printf("%s: %u of %u bytes known, a set byte is refused\n", op.c_str(), known, size);
    return 0;
}

int one(spark_context* ctx, const std::string& op, uint32_t size) {
    const spark_op_desc* desc = named(op);
    spark_error err{};
    err.struct_size = sizeof err;
    if (!desc) return failed(op, "this library does not have the operator", err);
    api::Arena arena(ctx);
    api::Example example(*desc, arena);
    std::memset(example.bytes().data() + desc->first_size, 0,
                desc->args_size - desc->first_size); // as the first had it
    LastBytes args(example, size);
    if (size > desc->args_size && refuses_the_last_byte(ctx, op, args, desc->args_size, size)) return 1;
    spark_op_info info{};
    info.struct_size = sizeof info;
    if (spark_op_query(ctx, args.head(), &info, &err)) return failed(op, "query", err);
    spark_exec exec{};
    exec.struct_size = sizeof exec;
    exec.workspace_size = info.workspace_size;
    if (info.workspace_size) exec.workspace = arena.take(info.workspace_size);
    if (spark_op_launch(ctx, args.head(), &exec, &err)) return failed(op, "launch", err);
    if (spark_stream_synchronize(ctx, 0, &err)) return failed(op, "synchronize", err);
    std::printf("%s %016llx\n", op.c_str(), static_cast<unsigned long long>(hash_of_outputs(ctx, example)));
    return 0;
}

} // namespace

int main(int count, char** words) {
    if (count != 2) return std::fputs("usage: api-caller SIZES\n", stderr), 2;
    spark_context* ctx = api::make_context();
    if (!ctx) return 1;
    std::ifstream sizes(words[1]);
    int failures = 0;
    uint32_t size;
    for (std::string op; sizes >> op >> size;) failures += one(ctx, op, size);
    spark_context_destroy(ctx);
    return failures ? 1 : 0;
}
