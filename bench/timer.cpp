// SPDX-License-Identifier: Apache-2.0
// Graph replays between two events; first looks, which keep the time of slow rivals bounded; rounds in random orders.
#include "timer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <stdexcept>

namespace bench {
namespace {

constexpr int MOST_LAUNCHES = 400;
constexpr double SLOW_LAUNCH = 20; // milliseconds: loading code takes less

struct Error : spark_error {
    Error() : spark_error{} { struct_size = sizeof(spark_error); }
};

void must(spark_status status, const Error& err) {
    if (status != SPARK_OK) throw std::runtime_error(err.message);
}

struct Sampled {
    Way* way;
    int times;
    Timer::Graph
        graph; // none for a ceiling: a copy in a graph takes another way than one in a stream, and a slower one

    double sample(Timer& timer) const { return graph ? timer.replayed(graph, times) : timer.launched(*way, times); }
};

// The first looks: one launch, which also loads the code, then three. False: the way is far behind.
bool look(Timer& timer, Way& way, double best_so_far, double far_behind, double& once) {
    once = timer.launched(way, 1);
    if (once < std::max(SLOW_LAUNCH, 4 * far_behind * best_so_far)) once = timer.launched(way, 3);
    way.given_up = once > far_behind * best_so_far;
    if (way.given_up) way.milliseconds = {once};
    return !way.given_up;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// What is worth sampling, each with its graph.
std::vector<Sampled> prepare(Timer& timer, std::vector<Item>& items, const Sampling& how) {
    std::vector<Sampled> all;
    const auto begin = std::chrono::steady_clock::now();
    double own_seconds = 0;
    for (Item& item : items) {
        double best_so_far = 1e30;
        for (size_t i = 0; i < item.ways.size(); ++i) {
            if (i > 0 && seconds_since(begin) - own_seconds > how.rival_seconds) {
                item.ways.resize(i);
                break;
            }
            Way& way = item.ways[i];
            const auto before = std::chrono::steady_clock::now();
            double once = 0;
            if (look(timer, way, best_so_far, how.far_behind, once)) {
                const int times =
                    std::clamp(static_cast<int>(how.milliseconds / std::max(once, 1e-4)), 1, MOST_LAUNCHES);
                all.push_back({&way, times, way.kernel.empty() ? nullptr : timer.record(way, times)});
                all.back().sample(timer); // the first replay brings the graph to the card
            }
            best_so_far = std::min(best_so_far, once);
            if (i == 0) own_seconds += seconds_since(before);
        }
    }
    return all;
}

} // namespace

Timer::Timer(spark_context* ctx) : ctx_(ctx) {
    Error err;
    must(spark_stream_create(ctx, nullptr, &stream_, &err), err);
    must(spark_event_create(ctx, nullptr, &begin_, &err), err);
    must(spark_event_create(ctx, nullptr, &end_, &err), err);
}

Timer::~Timer() {
    spark_event_destroy(ctx_, begin_, nullptr);
    spark_event_destroy(ctx_, end_, nullptr);
    spark_stream_destroy(ctx_, stream_, nullptr);
}

template <class Work> double Timer::between_events(const Work& work) {
    Error err;
    must(spark_event_record(ctx_, begin_, stream_, &err), err);
    work();
    must(spark_event_record(ctx_, end_, stream_, &err), err);
    float total = 0;
    must(spark_event_synchronize(ctx_, end_, &err), err);
    must(spark_event_elapsed(ctx_, begin_, end_, &total, &err), err);
    return total;
}

double Timer::launched(const Way& way, int times) {
    return between_events([&] {
               for (int i = 0; i < times; ++i) way.run(stream_);
           }) /
           times;
}

Timer::Graph Timer::record(const Way& way, int times) {
    Error err;
    must(spark_graph_begin(ctx_, stream_, nullptr, &err), err);
    for (int i = 0; i < times; ++i) way.run(stream_);
    spark_graph graph = 0;
    must(spark_graph_end(ctx_, stream_, &graph, &err), err);
    return {new spark_graph(graph), [ctx = ctx_](spark_graph* held) {
                spark_graph_destroy(ctx, *held, nullptr);
                delete held;
            }};
}

double Timer::replayed(const Graph& graph, int times) {
    Error err;
    return between_events([&] { must(spark_graph_launch(ctx_, *graph, stream_, &err), err); }) / times;
}

// Nanoseconds of one call on the host: the least of some batches, since whatever else runs only adds.
static double host_nanoseconds(const std::function<void()>& call) {
    constexpr int BATCHES = 32, CALLS = 64;
    double least = 1e30;
    for (int batch = 0; batch < BATCHES; ++batch) {
        const auto before = std::chrono::steady_clock::now();
        for (int i = 0; i < CALLS; ++i) call();
        least = std::min(least, seconds_since(before));
    }
    return least * 1e9 / CALLS;
}

void measure(Timer& timer, std::vector<Item>& items, const Sampling& how) {
    std::vector<Sampled> all = prepare(timer, items, how);
    std::mt19937 order; // drawn anew for each round: a row that always followed heavy ones would get less clock
    for (int round = 0; round < how.rounds; ++round) {
        std::shuffle(all.begin(), all.end(), order);
        for (const Sampled& s : all) s.way->milliseconds.push_back(s.sample(timer));
        if (how.show_progress) std::fprintf(stderr, "\rround %d of %d", round + 1, how.rounds);
    }
    if (how.show_progress) std::fprintf(stderr, "\n");
    for (const Sampled& s : all) std::sort(s.way->milliseconds.begin(), s.way->milliseconds.end());
    for (Item& item : items)
        if (item.query) item.host_ns = host_nanoseconds(item.query);
}

} // namespace bench
