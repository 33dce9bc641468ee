// SPDX-License-Identifier: Apache-2.0
// How long a way takes: a graph of its launches, replayed, so that the time is the card's and not the host's.
#pragma once

#include "items.h"

#include <memory>

namespace bench {

class Timer {
public:
    explicit Timer(spark_context* ctx);
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    // Milliseconds of one run, as the mean of `times` launches on end. The first call loads the code.
    double launched(const Way& way, int times);
    // `times` launches as one graph.
    using Graph = std::shared_ptr<spark_graph>;
    Graph record(const Way& way, int times);
    // Milliseconds of one run of a graph of so many.
    double replayed(const Graph& graph, int times);

private:
    template <class Work> double between_events(const Work& work);
    spark_context* ctx_;
    spark_stream stream_ = 0;
    spark_event begin_ = 0, end_ = 0;
};

struct Sampling {
    int rounds;           // samples of each way; a round has one of all ways and items, in random order
    double milliseconds;  // of a sample, about
    double rival_seconds; // once so long has gone into first looks at rivals, the rest of them are left out
    double far_behind;    // a rival that is so many times slower at first look is looked at no more
    bool show_progress;
};

// Fills the samples of every way, sorted. A rival that was never run is removed.
void measure(Timer& timer, std::vector<Item>& items, const Sampling& how);

} // namespace bench
