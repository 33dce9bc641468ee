// SPDX-License-Identifier: Apache-2.0
// spark-bench: the card's ceilings and the library's operators, measured in turn in one run. A figure is a median and a
// fraction of the ceiling of the same run. Records are written by `tools/spark bench --record`, never by hand.
#include "ceilings.h"
#include "choices.h"
#include "report.h"
#include "timer.h"
#include "tune.h"
#include "twin.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace {

constexpr int BEATEN = 3; // exit status

struct Settings {
    int rounds = 25;
    double sample_ms = 4; // launches are repeated within a sample until it lasts about so long
    bool small = false, rivals = false, list = false, twin = false;
    std::string json, only, tune;
    std::vector<std::string> shapes;
    bench::Draw draw;
};

const char* const HELP =
    "spark-bench [--rounds N] [--only TEXT] [--shape TEXT]... [--shapes FILE] [--rivals] [--tune FILE] [--small]\n"
    "            [--twin] [--json FILE]\n"
    "spark-bench --list [--only TEXT]\n"
    "spark-bench --choices SEED N [--seconds S] [--explain] [--only TEXT] [--small] --json FILE\n"
    "Measures the card's ceilings and every operator in turn and prints a table.\n"
    "  --rounds N   samples per row, interleaved; the table shows medians (25)\n"
    "  --only TEXT  rows whose name or shape contains TEXT, and the ceilings\n"
    "  --shape TEXT, --shapes FILE\n"
    "               these rows instead, in the words of the table: \"gemm m=16 n=4096 k=4096 BF16 tn\"; a file has\n"
    "               one a line, and notes in lines that begin with #. With --tune: what to tune for\n"
    "  --rivals     every other legal kernel of each row too, in the same rounds. Exit status 3 where one of\n"
    "               them beats the library's choice by more than 5 % and 0.3 us\n"
    "  --tune FILE  as --rivals, and FILE gets the kernels that beat the choice (docs/tuning.md)\n"
    "  --twin       attention of FP8 codes in integers as well, which every card has: its speed, in no library\n"
    "  --list       instead: run nothing, and write each row, a tab, and the ceilings of which one bounds it\n"
    "  --choices SEED N\n"
    "               instead: draw N shapes of gemm, attention and row operators that three kernels or more can\n"
    "               compute, and measure all of them; FILE gets a JSON object a line, as they come.\n"
    "               SEED may be the word rows: no draw, but those rows of the table, or given shapes, that two\n"
    "               kernels can compute\n"
    "  --explain    with --choices: run nothing, and write what spark_op_explain says of each shape\n"
    "  --seconds S  end the drawing after S seconds (150)\n"
    "  --small      tiny shapes, to try the program on the emulator\n"
    "  --json FILE  write the same figures as JSON\n";

template <class Some> void append(Some& to, Some more) { std::move(more.begin(), more.end(), std::back_inserter(to)); }

bool parse(int argc, char** argv, Settings& s) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool value = i + 1 < argc;
        if (word == "--rounds" && value) s.rounds = std::max(1, std::atoi(argv[++i]));
        else if (word == "--only" && value) s.only = argv[++i];
        else if (word == "--json" && value) s.json = argv[++i];
        else if (word == "--shape" && value) s.shapes.push_back(argv[++i]);
        else if (word == "--shapes" && value) append(s.shapes, bench::read_shapes(argv[++i]));
        else if (word == "--tune" && value) s.tune = argv[++i], s.rivals = true;
        else if (word == "--seconds" && value) s.draw.seconds = std::atof(argv[++i]);
        else if (word == "--small") s.small = true, s.rounds = 3, s.sample_ms = 0;
        else if (word == "--rivals") s.rivals = true;
        else if (word == "--list") s.list = true;
        else if (word == "--twin") s.twin = true;
        else if (word == "--explain") s.draw.explain = true;
        else if (word == "--choices" && i + 2 < argc) {
            s.draw.rows = !std::strcmp(argv[++i], "rows");
            s.draw.seed = s.draw.rows ? 0 : std::strtoull(argv[i], nullptr, 10);
            s.draw.count = std::max(1, std::atoi(argv[++i]));
        } else return false;
    }
    s.draw.given = s.shapes;
    return s.draw.count == 0 || (!s.json.empty() && (s.draw.rows || s.shapes.empty()));
}

int list_rows(spark_context* ctx, const Settings& s) {
    bench::Buffers buffers(ctx, bench::Buffers::Source::none);
    for (const bench::Item& item : bench::operator_items(buffers, s.small, s.only, false, s.shapes))
        std::printf("%s %s\t%s\n", item.name.c_str(), item.shape.c_str(), bench::ceilings_of(item).c_str());
    return 0;
}

int measure_rows(spark_context* ctx, const spark_device_info& device, const Settings& s) {
    std::string why;
    bench::Ceilings ceilings(0, s.small, why);
    if (!ceilings.ready()) {
        std::fprintf(stderr, "spark-bench: %s\n", why.c_str());
        return 2;
    }
    bench::Buffers buffers(ctx);
    std::vector<bench::Item> items = bench::ceiling_items(ceilings, buffers, s.small);
    if (s.twin) append(items, bench::twin_items(ceilings, buffers, s.small));
    append(items, bench::operator_items(buffers, s.small, s.only, s.rivals, s.shapes));
    bench::Timer timer(ctx);
    bench::measure(timer, items, {s.rounds, s.sample_ms, 60, 1.3, true});
    bench::print_table(items, device);
    if (!s.json.empty() && !bench::write_json(s.json, items, device, s.rounds)) {
        std::fprintf(stderr, "spark-bench: %s cannot be written\n", s.json.c_str());
        return 2;
    }
    if (!s.tune.empty() && !bench::write_tuning(s.tune, items)) {
        std::fprintf(stderr, "spark-bench: %s cannot be written\n", s.tune.c_str());
        return 2;
    }
    return bench::tell_beaten(items) == 0 ? 0 : BEATEN;
}

int run(const Settings& settings) {
    spark_error err{};
    err.struct_size = sizeof err;
    spark_context_desc desc{};
    desc.struct_size = sizeof desc;
    spark_context* ctx = nullptr;
    spark_device_info device{};
    device.struct_size = sizeof device;
    if (spark_context_create(&desc, &ctx, &err) != SPARK_OK || spark_context_device(ctx, &device, &err) != SPARK_OK) {
        std::fprintf(stderr, "spark-bench: %s\n", err.message);
        return 2;
    }
    const int code = settings.list              ? list_rows(ctx, settings)
                     : settings.draw.count != 0 ? bench::measure_choices(ctx, device, settings.draw, settings.only,
                                                                         settings.small, settings.json)
                                                : measure_rows(ctx, device, settings);
    spark_context_destroy(ctx);
    return code;
}

} // namespace

int main(int argc, char** argv) {
    try {
        Settings settings;
        if (!parse(argc, argv, settings)) {
            const bool help = argc == 2 && !std::strcmp(argv[1], "--help");
            std::fputs(HELP, help ? stdout : stderr);
            return help ? 0 : 2;
        }
        return run(settings);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "spark-bench: %s\n", failure.what());
        return 1;
    }
}
