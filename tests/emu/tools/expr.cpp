// SPDX-License-Identifier: Apache-2.0
// A recursive-descent evaluator. Small tests only: every element parses the text again.
#include "expr.h"

#include <cctype>
#include <cmath>
#include <cstring>

namespace ptxrun {

static const struct {
    const char* name;
    Elem elem;
    unsigned bytes;
} ELEMS[] = {
    {"u8", Elem::u8, 1},   {"s8", Elem::s8, 1},     {"u16", Elem::u16, 2}, {"s16", Elem::s16, 2},
    {"u32", Elem::u32, 4}, {"s32", Elem::s32, 4},   {"u64", Elem::u64, 8}, {"s64", Elem::s64, 8},
    {"f16", Elem::f16, 2}, {"bf16", Elem::bf16, 2}, {"f32", Elem::f32, 4}, {"f64", Elem::f64, 8},
};

bool elem_named(const std::string& name, Elem& out) {
    for (auto& e : ELEMS)
        if (name == e.name) return out = e.elem, true;
    return false;
}
unsigned bytes_of(Elem elem) {
    for (auto& e : ELEMS)
        if (e.elem == elem) return e.bytes;
    return 0;
}
bool is_float(Elem e) { return e == Elem::f16 || e == Elem::bf16 || e == Elem::f32 || e == Elem::f64; }

static double decode(uint32_t bits, int eb, int mb) {
    const int field = int(bits >> mb) & ((1 << eb) - 1), bias = (1 << (eb - 1)) - 1;
    const uint32_t m = bits & ((1u << mb) - 1);
    const double sign = bits >> (eb + mb) & 1 ? -1 : 1;
    if (field == (1 << eb) - 1) return m ? NAN : sign * INFINITY;
    return sign * std::ldexp(double(m) + (field ? double(1u << mb) : 0), (field ? field : 1) - bias - mb);
}
static uint32_t encode(double v, int eb, int mb) {
    const int bias = (1 << (eb - 1)) - 1;
    const uint32_t sign = std::signbit(v) ? 1u << (eb + mb) : 0, inf = ((1u << eb) - 1) << mb;
    if (std::isnan(v)) return (1u << (eb + mb)) - 1;
    v = std::fabs(v);
    if (v == 0) return sign;
    if (std::isinf(v)) return sign | inf;
    int e = 0;
    std::frexp(v, &e);
    const int quantum = std::max(e - 1, 1 - bias) - mb;
    double units = std::nearbyint(std::ldexp(v, -quantum));
    uint32_t field = units >= double(1u << mb) ? uint32_t(quantum + mb + bias) : 0;
    uint32_t m = uint32_t(units);
    uint32_t bits = field ? (field << mb) + (m - (1u << mb)) : m; // a carry moves into the field by itself
    return sign | (bits > inf ? inf : bits);
}
static double e4m3(uint32_t b) {
    const int field = int(b >> 3 & 15);
    return (b & 0x80 ? -1.0 : 1.0) * std::ldexp(double(b & 7) + (field ? 8 : 0), (field ? field : 1) - 10);
}
// Saturating, to nearest even, found by trying every number.
static int64_t to_e4m3(double v) {
    if (std::isnan(v)) return 0x7f;
    uint32_t best = 0;
    for (uint32_t b = 0; b < 0x7f; ++b) {
        const double now = std::fabs(e4m3(b) - std::fabs(v)), before = std::fabs(e4m3(best) - std::fabs(v));
        if (now < before || (now == before && !(b & 1))) best = b;
    }
    return (std::fabs(v) > 448 ? 0x7e : best) | (std::signbit(v) ? 0x80 : 0);
}
static int64_t to_e5m2(double v) {
    if (std::isnan(v)) return 0x7f;
    const uint32_t b = encode(v, 5, 2);
    return (b & 0x7f) >= 0x7c ? (b & 0x80) | 0x7b : b;
}
// v is exact; the nearest f32 toward zero, down or up.
static double directed(double v, char mode) {
    const float f = float(v);
    const bool low = mode == 'm' || (mode == 'z' && v > 0);
    if (low && double(f) > v) return std::nextafterf(f, -INFINITY);
    if (!low && double(f) < v) return std::nextafterf(f, INFINITY);
    return f;
}

double f16_to_double(uint32_t b) { return decode(b & 0xffff, 5, 10); }
double bf16_to_double(uint32_t b) { return decode(b & 0xffff, 8, 7); }
uint32_t double_to_f16(double v) { return encode(v, 5, 10); }
uint32_t double_to_bf16(double v) { return encode(v, 8, 7); }

uint64_t Array::bits(size_t index) const {
    uint64_t v = 0;
    std::memcpy(&v, bytes.data() + index * bytes_of(elem), bytes_of(elem));
    return v;
}
void Array::set_bits(size_t index, uint64_t v) {
    std::memcpy(bytes.data() + index * bytes_of(elem), &v, bytes_of(elem));
}

Value Array::get(size_t index) const {
    const uint64_t b = bits(index);
    Value v;
    v.real = is_float(elem);
    float f;
    switch (elem) {
    case Elem::s8: v.i = int8_t(b); break;
    case Elem::s16: v.i = int16_t(b); break;
    case Elem::s32: v.i = int32_t(b); break;
    case Elem::f16: v.d = f16_to_double(uint32_t(b)); break;
    case Elem::bf16: v.d = bf16_to_double(uint32_t(b)); break;
    case Elem::f32: std::memcpy(&f, &b, 4), v.d = f; break;
    case Elem::f64: std::memcpy(&v.d, &b, 8); break;
    default: v.i = int64_t(b);
    }
    return v;
}
void Array::set(size_t index, const Value& v) {
    uint64_t b = 0;
    const double d = v.as_double();
    const float f = float(d);
    switch (elem) {
    case Elem::f16: b = double_to_f16(d); break;
    case Elem::bf16: b = double_to_bf16(d); break;
    case Elem::f32: std::memcpy(&b, &f, 4); break;
    case Elem::f64: std::memcpy(&b, &d, 8); break;
    default: b = uint64_t(v.as_int());
    }
    set_bits(index, b);
}

namespace {

struct Parser {
    const char* p;
    std::map<std::string, int64_t> names;
    const std::map<std::string, const Array*>& arrays;
    int dead = 0; // inside a branch that is not taken

    [[noreturn]] void fail(const std::string& what) {
        throw "expression: " + what + " at '" + std::string(p).substr(0, 20) + "'";
    }
    void blanks() {
        while (std::isspace((unsigned char)*p)) ++p;
    }
    bool take(const char* s) {
        blanks();
        const size_t n = std::strlen(s);
        if (std::strncmp(p, s, n)) return false;
        p += n;
        return true;
    }
    void need(const char* s) {
        if (!take(s)) fail(std::string("needs '") + s + "'");
    }
    static Value integer(int64_t i) {
        Value v;
        v.i = i;
        return v;
    }
    static Value real(double d) {
        Value v;
        v.real = true;
        v.d = d;
        return v;
    }

    Value ternary() {
        Value c = binary(0);
        if (!take("?")) return c;
        dead += !c.truth(); // the branch not taken may name what does not exist
        Value a = ternary();
        dead += c.truth() - !c.truth();
        need(":");
        Value b = ternary();
        dead -= c.truth();
        return c.truth() ? a : b;
    }
    Value binary(int level) {
        static const char* const OPS[10][5] = {
            {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"},
            {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
        if (level == 10) return unary();
        Value a = binary(level + 1);
        for (;;) {
            blanks();
            const char* op = nullptr;
            for (auto o : OPS[level]) {
                if (!o || std::strncmp(p, o, std::strlen(o))) continue;
                const char next = p[std::strlen(o)];
                if ((level == 2 && next == '|') || (level == 4 && next == '&') ||
                    (level == 6 && std::strlen(o) == 1 && next == *o))
                    continue;
                op = o;
                break;
            }
            if (!op) return a;
            p += std::strlen(op);
            a = apply(op, a, binary(level + 1));
        }
    }
    Value apply(const std::string& op, Value a, Value b) {
        const bool r = a.real || b.real;
        const double x = a.as_double(), y = b.as_double();
        const uint64_t i = uint64_t(a.i), j = uint64_t(b.i);
        if (op == "||") return integer(a.truth() || b.truth());
        if (op == "&&") return integer(a.truth() && b.truth());
        if (op == "==") return integer(r ? x == y : i == j);
        if (op == "!=") return integer(r ? x != y : i != j);
        if (op == "<=") return integer(r ? x <= y : a.i <= b.i);
        if (op == ">=") return integer(r ? x >= y : a.i >= b.i);
        if (op == "<") return integer(r ? x < y : a.i < b.i);
        if (op == ">") return integer(r ? x > y : a.i > b.i);
        if (op == "+") return r ? real(x + y) : integer(int64_t(i + j));
        if (op == "-") return r ? real(x - y) : integer(int64_t(i - j));
        if (op == "*") return r ? real(x * y) : integer(int64_t(i * j));
        if (dead) return a;
        if (op == "/") return r ? real(x / y) : j ? integer(a.i / b.i) : (fail("divides by 0"), a);
        if (r) fail("'" + op + "' needs integers");
        if (op == "%") return j ? integer(a.i % b.i) : (fail("divides by 0"), a);
        if (op == "|") return integer(int64_t(i | j));
        if (op == "^") return integer(int64_t(i ^ j));
        if (op == "&") return integer(int64_t(i & j));
        if (op == "<<") return integer(j > 63 ? 0 : int64_t(i << j));
        return integer(j > 63 ? 0 : int64_t(i >> j));
    }
    Value unary() {
        blanks();
        if (take("-")) {
            Value v = unary();
            return v.real ? real(-v.d) : integer(int64_t(0 - uint64_t(v.i)));
        }
        if (take("~")) return integer(~unary().as_int());
        if (*p == '!' && p[1] != '=') {
            ++p;
            return integer(!unary().truth());
        }
        if (take("(")) {
            Value v = ternary();
            need(")");
            return v;
        }
        if (std::isdigit((unsigned char)*p) || *p == '.') return number();
        return name();
    }
    Value number() {
        char *ie, *de;
        const uint64_t i = std::strtoull(p, &ie, 0);
        const double d = std::strtod(p, &de);
        const bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
        if (de > ie && !(hex && !std::strpbrk(std::string(p, size_t(de - p)).c_str(), ".pP"))) {
            p = de;
            return real(d);
        }
        p = ie;
        return integer(int64_t(i));
    }
    Value name() {
        std::string n;
        while (std::isalnum((unsigned char)*p) || *p == '_') n += *p++;
        if (n.empty()) fail("needs a value");
        if (n == "inf") return real(INFINITY);
        if (n == "nan") return real(NAN);
        blanks();
        if (*p == '[') {
            ++p;
            const int64_t k = ternary().as_int();
            need("]");
            auto a = arrays.find(n);
            if (a == arrays.end()) fail("no array " + n);
            if (dead) return integer(0);
            if (k < 0 || size_t(k) >= a->second->count()) fail("index " + std::to_string(k) + " of " + n);
            return a->second->get(size_t(k));
        }
        if (*p == '(') return call(n);
        auto v = names.find(n);
        if (v == names.end()) fail("unknown name " + n);
        return integer(v->second);
    }
    // sum(j, low, high, body): body added over j = low .. high-1
    Value sum() {
        blanks();
        std::string v;
        while (std::isalnum((unsigned char)*p)) v += *p++;
        need(",");
        const int64_t low = ternary().as_int();
        need(",");
        const int64_t high = ternary().as_int();
        need(",");
        const char* body = p;
        Value total = integer(0);
        if (low >= high) {
            ++dead;
            names[v] = low;
            ternary();
            --dead;
        }
        for (int64_t j = low; j < high; ++j) {
            p = body;
            names[v] = j;
            total = apply("+", total, ternary());
        }
        names.erase(v);
        need(")");
        return total;
    }
    Value call(const std::string& n) {
        ++p;
        if (n == "sum") return sum();
        std::vector<Value> a;
        if (!take(")")) {
            do a.push_back(ternary());
            while (take(","));
            need(")");
        }
        auto d = [&](size_t k) {
            if (k >= a.size()) fail(n + " needs more arguments");
            return a[k].as_double();
        };
        auto u = [&](size_t k) {
            if (k >= a.size()) fail(n + " needs more arguments");
            return uint64_t(a[k].as_int());
        };
        Elem e;
        if (elem_named(n, e)) { // conversion: u8(x), f16(x), ...
            Array one;
            one.elem = e;
            one.bytes.resize(8);
            if (a.empty()) fail(n + " needs an argument");
            one.set(0, a[0]);
            return one.get(0);
        }
        if (n == "rz32" || n == "rm32" || n == "rp32") return real(directed(d(0), n[1]));
        if (n == "ase4m3") return real(u(0) % 128 == 127 ? NAN : e4m3(uint32_t(u(0)) & 0xff));
        if (n == "ase5m2") return real(decode(uint32_t(u(0)) & 0xff, 5, 2));
        if (n == "bitse4m3") return integer(to_e4m3(d(0)));
        if (n == "bitse5m2") return integer(to_e5m2(d(0)));
        if (n == "bits16") return integer(int64_t(double_to_f16(d(0))));
        if (n == "bitsb16") return integer(int64_t(double_to_bf16(d(0))));
        if (n == "bits32") {
            float f = float(d(0));
            uint32_t b;
            std::memcpy(&b, &f, 4);
            return integer(b);
        }
        if (n == "bits64") {
            double f = d(0);
            int64_t b;
            std::memcpy(&b, &f, 8);
            return integer(b);
        }
        if (n == "asf32") {
            uint32_t b = uint32_t(u(0));
            float f;
            std::memcpy(&f, &b, 4);
            return real(f);
        }
        if (n == "asf16") return real(f16_to_double(uint32_t(u(0))));
        if (n == "asbf16") return real(bf16_to_double(uint32_t(u(0))));
        if (n == "min") return d(0) <= d(1) ? a[0] : a[1];
        if (n == "max") return d(0) >= d(1) ? a[0] : a[1];
        if (n == "abs") return a.at(0).real ? real(std::fabs(d(0))) : integer(a[0].i < 0 ? -a[0].i : a[0].i);
        if (n == "sqrt") return real(std::sqrt(d(0)));
        if (n == "exp2") return real(std::exp2(d(0)));
        if (n == "log2") return real(std::log2(d(0)));
        if (n == "sin") return real(std::sin(d(0)));
        if (n == "cos") return real(std::cos(d(0)));
        if (n == "tanh") return real(std::tanh(d(0)));
        if (n == "floor") return real(std::floor(d(0)));
        if (n == "ceil") return real(std::ceil(d(0)));
        if (n == "trunc") return real(std::trunc(d(0)));
        if (n == "rint") return real(std::nearbyint(d(0)));
        if (n == "fma") return real(std::fma(d(0), d(1), d(2)));
        if (n == "popc") return integer(__builtin_popcountll(u(0)));
        if (n == "clz32") return integer(u(0) & 0xffffffff ? __builtin_clz(uint32_t(u(0))) : 32);
        if (n == "sar") return integer(int64_t(u(0)) >> (u(1) > 63 ? 63 : u(1)));
        if (n == "mulhi") return integer(int64_t((unsigned __int128)(u(0)) * u(1) >> 64));
        fail("unknown function " + n);
    }
};

} // namespace

Value evaluate(const std::string& text, int64_t index, const std::map<std::string, const Array*>& arrays) {
    Parser parser{text.c_str(), {{"i", index}}, arrays, 0};
    Value v = parser.ternary();
    parser.blanks();
    if (*parser.p) parser.fail("something is left over");
    return v;
}

} // namespace ptxrun
