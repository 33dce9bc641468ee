// SPDX-License-Identifier: Apache-2.0
// Parses test files, makes inputs, compares outputs.
#include "spec.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

namespace ptxrun {

static std::string trim(std::string s) {
    const size_t a = s.find_first_not_of(" \t\r"), b = s.find_last_not_of(" \t\r");
    return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

static void read_dim(std::istringstream& in, unsigned* out) {
    std::string text;
    in >> text;
    std::sscanf(text.c_str(), "%u,%u,%u", out, out + 1, out + 2);
}

static Buffer read_buffer(Buffer::Kind kind, const std::string& rest) {
    Buffer b;
    b.kind = kind;
    std::istringstream in(rest);
    std::string type;
    in >> b.name >> type;
    const size_t bracket = type.find('[');
    if (bracket != std::string::npos) b.count = std::stoul(type.substr(bracket + 1), nullptr, 0);
    if (!elem_named(type.substr(0, bracket), b.host.elem)) throw "unknown type " + type;
    const size_t equals = rest.find('=');
    if (equals != std::string::npos) b.source = trim(rest.substr(equals + 1));
    b.host.bytes.assign(b.count * bytes_of(b.host.elem), 0xa5);
    return b;
}

static Buffer read_map(std::istringstream& in) {
    Buffer b;
    b.kind = Buffer::tensor_map;
    in >> b.name;
    b.map = read_tensor_map(in);
    b.host.elem = Elem::u8;
    b.host.bytes.assign(128, 0);
    return b;
}

static void read_line(Spec& spec, const std::string& line) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    std::string rest;
    std::getline(in, rest);
    rest = trim(rest);
    std::istringstream more(rest);
    if (word == "kernel") spec.kernel = rest;
    else if (word == "grid" || word == "block" || word == "cluster" || word == "smem" || word == "launches" ||
             word == "cooperative") {
        std::istringstream all(line);
        while (all >> word) {
            if (word == "grid") read_dim(all, spec.grid);
            else if (word == "block") read_dim(all, spec.block);
            else if (word == "cluster") read_dim(all, spec.cluster);
            else if (word == "smem") all >> spec.smem;
            else if (word == "launches") all >> spec.launches;
            else if (word == "cooperative") all >> spec.cooperative;
            else throw "unknown word " + word;
        }
    } else if (word == "in") spec.buffers.push_back(read_buffer(Buffer::in, rest));
    else if (word == "out") spec.buffers.push_back(read_buffer(Buffer::out, rest));
    else if (word == "inout") spec.buffers.push_back(read_buffer(Buffer::inout, rest));
    else if (word == "raw") spec.buffers.push_back(read_buffer(Buffer::raw, rest));
    else if (word == "arg") spec.buffers.push_back(read_buffer(Buffer::arg, rest));
    else if (word == "tensormap") spec.buffers.push_back(read_map(more));
    else if (word == "expect" || word == "bits") {
        Expectation e;
        e.bits = word == "bits";
        const size_t equals = rest.find('=');
        if (equals == std::string::npos) throw word + " needs '='";
        e.name = trim(rest.substr(0, equals));
        e.source = trim(rest.substr(equals + 1));
        spec.expectations.push_back(e);
    } else if (word == "approx") {
        Approx a;
        more >> a.name;
        double v;
        while (more >> word >> v) (word == "abs" ? a.abs : word == "rel" ? a.rel : a.ulp) = v;
        spec.approx.push_back(a);
    } else if (word == "must-report") {
        Fault f;
        more >> f.kind;
        int n;
        while (more >> n) f.lines.push_back(n);
        spec.faults.push_back(f);
    } else if (word == "options") spec.options = rest;
    else if (word == "config") spec.configs.push_back(rest);
    else if (word == "needs") spec.needs = rest;
    else if (word == "clean") spec.clean = true;
    else throw "unknown line '//! " + line + "'";
}

Spec read_spec(const std::string& path) {
    Spec spec;
    spec.path = path;
    std::ifstream file(path);
    if (!file) throw "cannot read " + path;
    std::string line;
    std::vector<int> marked;
    std::vector<std::pair<int, std::string>> lines;
    for (int number = 1; std::getline(file, line); ++number) {
        spec.text += line + "\n";
        if (line.find("// FAULT") != std::string::npos) marked.push_back(number);
        if (line.rfind("//!", 0) != 0) continue;
        const std::string rest = trim(line.substr(3));
        if (rest.rfind("+ ", 0) == 0 && !lines.empty())
            lines.back().second += rest.substr(1); // continues the line before
        else lines.emplace_back(number, rest);
    }
    for (const auto& [number, rest] : lines) {
        try {
            read_line(spec, rest);
        } catch (const std::string& what) {
            throw path + ":" + std::to_string(number) + ": " + what;
        }
    }
    for (Fault& f : spec.faults)
        if (f.lines.empty()) f.lines = marked;
    if (const size_t at = spec.text.find("\n.target "); spec.needs.empty() && at != std::string::npos)
        spec.needs = trim(spec.text.substr(at + 9, spec.text.find_first_of(",\n", at + 9) - at - 9));
    if (spec.kernel.empty()) {
        const size_t at = spec.text.find(".entry ");
        if (at == std::string::npos && spec.faults.empty()) throw path + ": no .entry";
        if (at != std::string::npos) {
            std::istringstream in(spec.text.substr(at + 7));
            std::getline(in, spec.kernel, '(');
            spec.kernel = trim(spec.kernel);
        }
    }
    return spec;
}

static uint64_t next_random(uint64_t& state) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    uint64_t x = state ^ state >> 32;
    return x * 0x9e3779b97f4a7c15ull ^ x >> 29;
}

static std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> parts;
    int depth = 0;
    std::string part;
    for (char c : text) {
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if (c == ',' && !depth) parts.push_back(part), part.clear();
        else part += c;
    }
    parts.push_back(part);
    return parts;
}

// A source gives element k: iota, random SEED [LOW HIGH], randbits SEED, a list (repeated) or one expression in i.
static void fill(Array& a, const std::string& source, const std::map<std::string, const Array*>& arrays,
                 bool raw_bits) {
    std::istringstream in(source);
    std::string word;
    in >> word;
    const size_t n = a.count();
    if (word == "iota") {
        for (size_t k = 0; k < n; ++k) a.set(k, evaluate("i", int64_t(k), arrays));
    } else if (word == "random" || word == "randbits") {
        uint64_t state = 1;
        double low = -1, high = 1;
        in >> state;
        const bool ranged = bool(in >> low >> high);
        for (size_t k = 0; k < n; ++k) {
            const uint64_t r = next_random(state);
            if (word == "randbits" || (!ranged && !is_float(a.elem))) {
                a.set_bits(k, r);
                continue;
            }
            Value v;
            v.real = true;
            v.d = low + (high - low) * double(r >> 11) * 0x1p-53;
            if (!is_float(a.elem)) v.d = std::floor(v.d);
            a.set(k, v);
        }
    } else {
        const std::vector<std::string> parts = split_list(source);
        for (size_t k = 0; k < n; ++k) {
            const Value v = evaluate(parts[k % parts.size()], int64_t(k), arrays);
            if (raw_bits && !v.real) a.set_bits(k, uint64_t(v.i));
            else a.set(k, v);
        }
    }
}

void fill_inputs(Spec& spec) {
    std::map<std::string, const Array*> arrays;
    for (Buffer& b : spec.buffers) {
        if (b.kind == Buffer::in || b.kind == Buffer::inout || b.kind == Buffer::arg) {
            const bool hex = is_float(b.host.elem) && b.source.rfind("bits ", 0) == 0;
            fill(b.host, hex ? b.source.substr(5) : b.source, arrays, hex);
        }
        arrays[b.name] = &b.host;
    }
}

static double ulp_of(double x, Elem elem) {
    const int mantissa = elem == Elem::f32 ? 23 : elem == Elem::f16 ? 10 : elem == Elem::bf16 ? 7 : 52;
    const int least = elem == Elem::f16 ? -14 : elem == Elem::f64 ? -1022 : -126;
    int e;
    std::frexp(x, &e);
    return std::ldexp(1.0, std::max(x == 0 ? least : e - 1, least) - mantissa);
}

static bool close_enough(double got, double want, const Approx& a, Elem elem) {
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
    if (std::isinf(want) || std::isinf(got)) return want == got;
    return std::fabs(got - want) <= a.abs + a.rel * std::fabs(want) + a.ulp * ulp_of(want, elem);
}

std::string compare(const Spec& spec, const std::vector<Buffer>& before) {
    std::map<std::string, const Array*> arrays;
    for (const Buffer& b : before) arrays[b.name] = &b.host;
    for (const Buffer& b : spec.buffers)
        if (b.kind == Buffer::in && b.host.bytes != arrays[b.name]->bytes) return "input " + b.name + " was changed";
    for (const Expectation& e : spec.expectations) {
        const Buffer* b = nullptr;
        for (const Buffer& candidate : spec.buffers)
            if (candidate.name == e.name) b = &candidate;
        if (!b) return "no buffer " + e.name;
        const Approx* approx = nullptr;
        for (const Approx& a : spec.approx)
            if (a.name == e.name) approx = &a;
        Array want = b->host;
        if (approx) {
            Array exact;
            exact.elem = Elem::f64;
            exact.bytes.resize(8 * want.count());
            fill(exact, e.source, arrays, false);
            for (size_t k = 0; k < want.count(); ++k)
                if (!close_enough(b->host.get(k).as_double(), exact.get(k).d, *approx, b->host.elem)) {
                    char text[160];
                    std::snprintf(text, sizeof text, "%s[%zu] = %.9g, expected about %.9g", e.name.c_str(), k,
                                  b->host.get(k).as_double(), exact.get(k).d);
                    return text;
                }
            continue;
        }
        fill(want, e.source, arrays, e.bits);
        for (size_t k = 0; k < want.count(); ++k) {
            const Value w = want.get(k), g = b->host.get(k);
            if (!e.bits && w.real && std::isnan(w.d) && std::isnan(g.d)) continue;
            if (want.bits(k) == b->host.bits(k)) continue;
            char text[200];
            std::snprintf(text, sizeof text, "%s[%zu] = 0x%llx (%.9g), expected 0x%llx (%.9g)", e.name.c_str(), k,
                          (unsigned long long)b->host.bits(k), g.as_double(), (unsigned long long)want.bits(k),
                          w.as_double());
            return text;
        }
    }
    return "";
}

} // namespace ptxrun
