// SPDX-License-Identifier: Apache-2.0
// The oracle as a device: every output element gets a value from its own allowed interval.
// With it spark-check tests itself (--driver oracle): clean runs must pass, planted faults must be found.
#include "check/runner.h"

#include <cmath>

namespace check {

Image initial_image(const Case& c, size_t storage, const RunOptions& options) {
    const Storage& s = c.storages[storage];
    Image image;
    image.front = (options.tight ? 0 : GUARD) + s.misalign;
    image.size = s.bytes.size();
    const size_t end = image.front + image.size;
    const size_t behind = !options.tight ? GUARD : options.chunks ? (CHUNK - end % CHUNK) % CHUNK : 0;
    image.bytes.assign(end + behind, GUARD_BYTE);
    std::copy(s.bytes.begin(), s.bytes.end(), image.data());
    for (const Operand& operand : c.operands) {
        if (operand.storage == storage && operand.output && !operand.input) {
            const size_t size = ref::size_of(operand.view.type);
            for (const auto [index, at] : operand.places()) {
                std::fill_n(image.data() + at, size, options.poison);
            }
        }
    }
    return image;
}

namespace {

class OracleRunner : public Runner {
public:
    std::string device() override { return "the oracle (no device)"; }

    std::string kernels(const Case&, std::vector<Choice>& out) override {
        out = {{"oracle__first", 1}, {"oracle__second", 2}};
        return {};
    }

    std::string run(const Case& c, const Choice& kernel, const RunOptions& options, std::vector<Image>& out) override {
        out.clear();
        for (size_t i = 0; i < c.storages.size(); ++i) {
            out.push_back(initial_image(c, i, options));
        }
        for (size_t index = 0; index < c.operands.size(); ++index) {
            const Operand& operand = c.operands[index];
            if (!operand.output) {
                continue;
            }
            const std::vector<Allowed>& expected = c.expected(index, kernel.name);
            for (const auto [i, at] : operand.places()) {
                write(operand.view.type, expected[static_cast<size_t>(i)], out[operand.storage].data() + at);
            }
        }
        return {};
    }

    bool computes() const override { return false; }
    std::string explain(const Case&) override { return "the oracle has no dispatch table\n"; }
    std::string bench(const Case&, const Choice&, int, double&, double&, uint64_t&, uint64_t&) override {
        return "the oracle cannot be measured";
    }

private:
    static void write(ref::Type type, const Allowed& allowed, uint8_t* element) {
        switch (allowed.kind) {
        case Allowed::range: ref::store(type, allowed.high, element); break;
        case Allowed::nan: ref::store(type, NAN, element); break;
        case Allowed::bits: ref::store_bits(type, allowed.pattern, element); break;
        case Allowed::any: ref::store(type, 0, element); break;
        case Allowed::unchanged: break;
        }
    }
};

} // namespace

std::unique_ptr<Runner> make_oracle_runner() { return std::make_unique<OracleRunner>(); }

} // namespace check
