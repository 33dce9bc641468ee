// SPDX-License-Identifier: Apache-2.0
// One decode step of a small transformer layer, captured in a graph and replayed: each replay appends a token to the
// caches of two sequences. The first step also runs without the graph, and must give the same bits.
//
// CMakeLists.txt beside this file builds it; LIBSPARK_DRIVER=emu on a computer without a GPU.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <spark.hpp>

namespace {

using spark::bfloat16;
using spark::buffer;

constexpr int SEQUENCES = 2;
constexpr int HIDDEN = 64;
constexpr int HEADS = 2; // of queries; one head of keys and values serves both
constexpr int HEAD = 32;
constexpr int QKV = (HEADS + 2) * HEAD;
constexpr int INNER = 96; // behind the gate; the projection before it has twice as many
constexpr int VOCABULARY = 128;
constexpr int ROWS = 16; // of a sequence in the cache
constexpr int STEPS = 4;
constexpr std::size_t SCRATCH = 1 << 20; // more than any of these calls asks for (query says how much)

using Tokens = std::vector<std::int32_t>;

// Small numbers that every language can make: a linear congruence, its upper bits as multiples of 2^-10.
std::vector<bfloat16> numbers(std::uint32_t seed, std::size_t count) {
    std::vector<bfloat16> made(count);
    for (bfloat16& number : made) {
        seed = seed * 1664525u + 1013904223u;
        number = bfloat16(static_cast<float>(static_cast<int>(seed >> 24) - 128) / 1024.0f);
    }
    return made;
}

// What stays.
struct Weights {
    buffer<bfloat16> norm, qkv, inner, logits;

    explicit Weights(const spark::stream& stream)
        : norm(stream, std::vector<bfloat16>(HIDDEN, bfloat16(1.0f))), qkv(stream, numbers(1, QKV * HIDDEN)),
          inner(stream, numbers(2, 2 * INNER * HEADS * HEAD)), logits(stream, numbers(3, VOCABULARY * INNER)) {}
};

// Zeros, one for each place of a tensor.
template <class T> buffer<T> zeros(const spark::stream& stream, std::size_t a, std::size_t b = 1) {
    return buffer<T>::zeros(stream, a * b);
}

// What a step reads and writes.
struct State {
    buffer<bfloat16> x, h, qkv, keys, values, mixed, gates, inner;
    buffer<float> logits;
    buffer<std::int32_t> tokens;
    buffer<std::int32_t> positions; // of the new tokens
    buffer<std::int32_t> lengths;   // with them
    buffer<std::uint64_t> draws;    // which of the seed's random numbers
    buffer<std::int32_t> sequence, invalid;
    spark::workspace scratch;

    explicit State(const spark::stream& s)
        : x(zeros<bfloat16>(s, SEQUENCES, HIDDEN)), h(zeros<bfloat16>(s, SEQUENCES, HIDDEN)),
          qkv(zeros<bfloat16>(s, SEQUENCES, QKV)), keys(zeros<bfloat16>(s, SEQUENCES * ROWS, HEAD)),
          values(zeros<bfloat16>(s, SEQUENCES * ROWS, HEAD)), mixed(zeros<bfloat16>(s, SEQUENCES, HEADS * HEAD)),
          gates(zeros<bfloat16>(s, SEQUENCES, 2 * INNER)), inner(zeros<bfloat16>(s, SEQUENCES, INNER)),
          logits(zeros<float>(s, SEQUENCES, VOCABULARY)), tokens(zeros<std::int32_t>(s, SEQUENCES)),
          positions(zeros<std::int32_t>(s, SEQUENCES)), lengths(zeros<std::int32_t>(s, SEQUENCES)),
          draws(zeros<std::uint64_t>(s, SEQUENCES)), sequence(s, Tokens{0, 1}), invalid(zeros<std::int32_t>(s, 1)),
          scratch(s.ctx(), SCRATCH) {}

    // Puts the tokens of a step in: what they are and where they stand.
    void feed(const spark::stream& stream, const Tokens& now, int step) {
        for (std::size_t i = 0; i < SEQUENCES; ++i)
            x.write(stream, numbers(1000u + static_cast<std::uint32_t>(now[i]), HIDDEN), i * HIDDEN);
        positions.write(stream, Tokens(SEQUENCES, step));
        draws.write(stream, std::vector<std::uint64_t>(SEQUENCES, static_cast<std::uint64_t>(step)));
        lengths.write(stream, Tokens(SEQUENCES, step + 1));
    }

    // The operators of a step, in order.
    void enqueue(const Weights& w, const spark::stream& stream) const {
        spark::ops::rmsnorm norm(1e-5f);
        norm.x = x.view({SEQUENCES, HIDDEN});
        norm.weight = w.norm.view({HIDDEN});
        norm.y = h.view({SEQUENCES, HIDDEN});
        norm.launch(stream);
        multiply(stream, norm.y, w.qkv.view({QKV, HIDDEN}), qkv.view({SEQUENCES, QKV}));

        attend(stream);
        multiply(stream, mixed.view({SEQUENCES, HEADS * HEAD}), w.inner.view({2 * INNER, HEADS * HEAD}),
                 gates.view({SEQUENCES, 2 * INNER}));

        spark::ops::glu glu;
        glu.gate = gates.view({SEQUENCES, INNER}, {2 * INNER, 1});
        glu.up = gates.view({SEQUENCES, INNER}, {2 * INNER, 1}, INNER);
        glu.y = inner.view({SEQUENCES, INNER});
        glu.activation = SPARK_ACTIVATION_SILU;
        glu.launch(stream);
        multiply(stream, glu.y, w.logits.view({VOCABULARY, INNER}), logits.view({SEQUENCES, VOCABULARY}));

        spark::ops::sample sample;
        sample.logits = logits.view({SEQUENCES, VOCABULARY});
        sample.ids = tokens.view({SEQUENCES});
        sample.offsets = draws.view({SEQUENCES});
        sample.temperature = 0.8f;
        sample.top_k = 20;
        sample.seed = 42;
        sample.launch(stream, scratch);
    }

private:
    void multiply(const spark::stream& stream, const spark_tensor& a, const spark_tensor& b,
                  const spark_tensor& d) const {
        spark::ops::gemm gemm;
        gemm.a = a;
        gemm.b = b;
        gemm.d = d;
        gemm.launch(stream, scratch);
    }

    // From the projected rows to the output of the attention.
    void attend(const spark::stream& stream) const {
        const spark::extents cache{SEQUENCES, ROWS, 1, HEAD}, rows{ROWS * HEAD, HEAD, HEAD, 1};

        // Queries and keys are neighbours in a row of the projection: one call turns both.
        spark::ops::rope rope;
        rope.positions = positions.view({SEQUENCES});
        rope.x = rope.y = qkv.view({SEQUENCES, HEADS + 1, HEAD}, {QKV, HEAD, 1});
        rope.launch(stream);

        spark::ops::kv_append append;
        append.k = qkv.view({SEQUENCES, 1, HEAD}, {QKV, HEAD, 1}, HEADS * HEAD);
        append.v = qkv.view({SEQUENCES, 1, HEAD}, {QKV, HEAD, 1}, (HEADS + 1) * HEAD);
        append.positions = positions.view({SEQUENCES});
        append.batch = sequence.view({SEQUENCES});
        append.k_cache = keys.view(cache, rows);
        append.v_cache = values.view(cache, rows);
        append.invalid_count = invalid.view({1});
        append.launch(stream);

        spark::ops::attention attention;
        attention.q = qkv.view({SEQUENCES, 1, HEADS, HEAD}, {QKV, QKV, HEAD, 1});
        attention.k = append.k_cache;
        attention.v = append.v_cache;
        attention.o = mixed.view({SEQUENCES, 1, HEADS, HEAD});
        attention.seq_lens = lengths.view({SEQUENCES});
        attention.launch(stream, scratch);
    }
};

void require(bool holds, const char* otherwise) {
    if (!holds) throw std::runtime_error(otherwise);
}

void run() {
    const spark::context ctx;
    const spark::stream stream(ctx);
    const Weights weights(stream);
    State state(stream);

    // Once without a graph: this also loads the code, which a capture does not.
    Tokens tokens{5, 77};
    state.feed(stream, tokens, 0);
    state.enqueue(weights, stream);
    const std::vector<float> direct = state.logits.to_vector(stream);

    const spark::graph graph = stream.capture([&] { state.enqueue(weights, stream); });
    std::vector<float> logits;
    for (int step = 0; step < STEPS; ++step) {
        state.feed(stream, tokens, step);
        graph.launch(stream);
        logits = state.logits.to_vector(stream);
        require(step != 0 || std::memcmp(direct.data(), logits.data(), state.logits.bytes()) == 0,
                "the graph gives other bits");
        tokens = state.tokens.to_vector(stream);
        std::printf("step %d: tokens [%" PRId32 ", %" PRId32 "]\n", step, tokens[0], tokens[1]);
    }
    require(state.invalid.to_vector(stream)[0] == 0, "a token has no row in the cache");

    // FNV-1a over the bits of the last logits: on one device the same in every language.
    std::vector<unsigned char> bits(state.logits.bytes());
    std::memcpy(bits.data(), logits.data(), bits.size());
    std::uint64_t sum = 0xcbf29ce484222325u;
    for (unsigned char byte : bits) sum = (sum ^ byte) * 0x100000001b3u;
    std::printf("logits %016" PRIx64 "\n", sum);
    std::printf("on %s\n", ctx.device().name);
}

} // namespace

int main() {
    try {
        run();
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
        return 1;
    }
}
