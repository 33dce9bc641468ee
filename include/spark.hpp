// SPDX-License-Identifier: Apache-2.0
// spark.hpp: libspark for C++17, in headers over spark.h. Nothing of it is compiled into the library.
//
//   spark::context ctx;                                   // LIBSPARK_DRIVER=emu on a computer without a GPU
//   spark::stream stream(ctx);
//   spark::buffer<float> x(stream, std::vector<float>(64, 3.0f)), y(ctx, 64);
//   spark::ops::rmsnorm norm(1e-5f);                      // spark_rmsnorm_args, its head filled in, with its eps
//   norm.x = x.view({1, 64});
//   norm.y = y.view({1, 64});
//   norm.launch(stream);
//   std::vector<float> ones = y.to_vector(stream);
//
// Objects own what they made and give it back in their destructors, in any order: each keeps its context alive. What
// fails throws spark::error, with the library's sentence. As in C, memory must outlive the work that uses it: wait for
// the stream before a buffer goes. While a stream captures, its thread can free nothing: what owners that end there
// had is lost (SPARK_CAPTURE_RELAXED lets them). All rules of spark.h hold; its structures, enumerations and flags are
// used as they are, but for scalars with a usual value other than 0, which functions set: gemm.set_alpha(0) is a
// factor of 0.
#ifndef SPARK_HPP_
#define SPARK_HPP_

#include <spark_memory.hpp>

namespace spark {

/// The arguments of an operator, and its calls. The fields are those of the C structure, all absent at first.
template <class Args, spark_op Number> struct operation : Args {
    operation() : Args{} {
        this->hdr.struct_size = sizeof(Args);
        this->hdr.op = Number;
    }

    /// Checks the arguments and says what a launch would do. No driver is needed.
    spark_op_info query(const context& ctx) const { return inquire(ctx, spark_op_query); }
    /// As query, and loads the code that the launch will need.
    spark_op_info prepare(const context& ctx) const { return inquire(ctx, spark_op_prepare); }
    /// Enqueues the work.
    void launch(const stream& on) const { launch(on, 0, 0, 0); }
    /// With memory for intermediate results (query says how much), and with one of `kernels` instead of the library's
    /// choice (0).
    void launch(const stream& on, const workspace& scratch, std::uint64_t kernel_id = 0) const {
        launch(on, scratch.get(), scratch.bytes(), kernel_id);
    }
    /// One line for each kernel: the first limit that it fails, or why it is chosen.
    std::string explain(const context& ctx) const {
        std::size_t needed = 4096; // more than most need
        std::string text;
        do {
            text.resize(needed);
            spark_error said{};
            said.struct_size = sizeof said;
            const spark_status status = spark_op_explain(ctx.get(), &this->hdr, &text[0], text.size(), &needed, &said);
            if (status != SPARK_OK && status != SPARK_ERR_BUFFER_TOO_SMALL) throw error(status, said);
        } while (needed > text.size());
        text.resize(needed - 1);
        return text;
    }
    /// Every kernel that is legal for these arguments and needs at most so many bytes of workspace, the preferred one
    /// first.
    std::vector<spark_op_info> kernels(const context& ctx, std::uint64_t workspace_limit = UINT64_MAX) const {
        std::vector<spark_op_info> infos;
        std::uint32_t count = 0;
        do {
            infos.resize(count, empty_info());
            check([&](spark_error* err) {
                const auto capacity = static_cast<std::uint32_t>(infos.size());
                return spark_op_kernels(ctx.get(), &this->hdr, workspace_limit, infos.data(), capacity, &count, err);
            });
        } while (count > infos.size());
        return infos;
    }

protected:
    /// Sets a scalar that counts from then on, also where it is 0.
    template <class T> void give(T& field, T value, std::uint32_t bit) {
        field = value;
        this->hdr.given |= bit;
    }

private:
    static spark_op_info empty_info() {
        spark_op_info info{};
        info.struct_size = sizeof info;
        return info;
    }
    template <class Call> spark_op_info inquire(const context& ctx, Call call) const {
        spark_op_info info = empty_info();
        check([&](spark_error* err) { return call(ctx.get(), &this->hdr, &info, err); });
        return info;
    }
    void launch(const stream& on, spark_devptr scratch, std::uint64_t bytes, std::uint64_t kernel_id) const {
        spark_exec exec{};
        exec.struct_size = sizeof exec;
        exec.stream = on.get();
        exec.workspace = scratch;
        exec.workspace_size = bytes;
        exec.kernel_id = kernel_id;
        check([&](spark_error* err) { return spark_op_launch(on.ctx().get(), &this->hdr, &exec, err); });
    }
};

} // namespace spark

#include <spark_ops.hpp> // spark::ops: one type for each operator

#endif // SPARK_HPP_
