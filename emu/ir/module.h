// SPDX-License-Identifier: Apache-2.0
// What a PTX text becomes: fixed-size instructions with their handlers chosen, per kernel, ready to run.
// Written by ir/build.cpp and ir/flow.cpp, read by exec and check. Knows no parser state and no run state.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../engine.h"

namespace emu {

struct Warp;
struct Inst;

// What a handler tells the loop that called it.
enum class Flow : uint8_t {
    next,   // go on with pc + 1
    moved,  // the handler changed the warp's fragments (branch, exit): choose again
    wait,   // not executed: the warp cannot go on now; the loop calls again later
    failed, // a report was made: stop the launch
};
using Handler = Flow (*)(Warp&, const Inst&);

enum class Type : uint8_t {
    none,
    pred,
    b8,
    u8,
    s8,
    b16,
    u16,
    s16,
    f16,
    bf16,
    b32,
    u32,
    s32,
    f32,
    f16x2,
    bf16x2,
    tf32,
    b64,
    u64,
    s64,
    f64,
    b128,
    e4m3,
    e5m2,
    e4m3x2,
    e5m2x2,
    e2m1,
    e2m1x2,
    e2m3,
    e3m2,
    ue8m0,
    e2m3x2,
    e3m2x2,
    ue8m0x2,
    s4,
    u4,
    b1,
    s16x2,
    u16x2,
    f32x2
};
unsigned bytes_of(Type type); // in memory; sub-byte types: of their container
bool is_float(Type type);
bool is_signed(Type type);
std::string_view name_of(Type type);
Type type_named(std::string_view name); // Type::none: no such type

enum class Space : uint8_t { generic, global, shared, local, param, constant, cluster }; // cluster: shared::cluster
constexpr uint32_t SHARED_BASE = 1024; // first usable shared address (the card keeps 1 KiB too); 0 is never valid
// A block's own shared memory lies below, in both shared spaces; that of the cluster's block of rank r in (r + 1) times
// this. What mapa gives for the own block is the own address.
constexpr uint32_t PEER_BYTES = 1u << 24;

// How undefined registers travel through an instruction (see Warp::undef).
enum class Taint : uint8_t {
    spread, // destination lanes are undefined where any source lane is
    use,    // every source must be defined (store, mma, address-like operands): else a report
    load,   // sources are addresses and must be defined; the handler says what it loaded was undefined
    own,    // the handler does it all (shfl, selp): it reads and writes Warp::undef when warp.tainted is not 0
};

// What an instruction promises about the order of memory accesses, as its row and its modifiers say. One byte.
enum class Semantics : uint8_t { weak, relaxed, acquire, release, acq_rel, sc, vol }; // vol: .volatile, .mmio
enum class Scope : uint8_t { cta, cluster, gpu, sys };
enum class Proxy : uint8_t { generic, async, async_shared, async_global, alias, tensormap };
struct Order {
    Semantics semantics : 3 = Semantics::weak;
    Scope scope : 2 = Scope::cta;
    Proxy proxy : 3 = Proxy::generic; // of a fence: the one that it joins with the generic proxy
    bool strong() const { return semantics != Semantics::weak; }
    bool acquires() const { return semantics == Semantics::acquire || both(); }
    bool releases() const { return semantics == Semantics::release || both(); }

private:
    bool both() const { return semantics == Semantics::acq_rel || semantics == Semantics::sc; }
};
static_assert(sizeof(Order) == 1);

// One decoded instruction, 64 bytes. Operands are slot numbers of the warp's register file (see exec/warp.h), or
// predicate numbers, in the order in which the text writes them: destinations first, vectors flattened, the coordinates
// of an address after its register, `_` a slot that nobody reads.
// Immediates and special registers have slots of their own, so a handler never asks what an operand is.
// What does not fit, operands beyond INLINE and immediates beyond one, is in an Extra of the kernel.
constexpr uint16_t NO_REG = 0xffff;
constexpr unsigned INLINE_OPERANDS = 14;
struct Inst {
    Handler fn = nullptr;
    int64_t imm = 0;             // offset of the first address; or what pick() chose
    uint16_t r[INLINE_OPERANDS]; // operands, if they fit; else see operands_of()
    uint16_t guard = 0;          // predicate number; 0 = always true
    uint8_t guard_not = 0;       // 1: @!p
    uint8_t nregs = 0;           // operands
    uint8_t flags = 0;           // Flag bits
    uint8_t vec = 1;             // .v2 .v4 .v8 of loads and stores
    uint8_t bytes = 0;           // of one element of a memory access
    uint8_t sub = 0;             // handler's own
    uint32_t target = 0;         // branch target pc; handler's own elsewhere
    uint32_t extra = 0;          // entry of Kernel::extras; 0: none
    Order order;
    uint8_t access = 0; // Access bits
    uint8_t pad[2] = {};
    enum Flag : uint8_t {
        sync = 1,      // names a member mask: the loop gathers its lanes first (r[mask_at] of InstInfo)
        aligned = 2,   // all live lanes must be here together
        always = 4,    // is called even if the guard leaves no lane
        late_ok = 8,   // a shared load that late_reads may deliver at first use
        backward = 16, // branch to an earlier pc: fragments take turns here
        not_src = 32,  // the predicate source is negated (!p)
        delivers = 64, // loads that late_reads holds back are delivered before it, whatever it touches
    };
    enum Access : uint8_t {
        reads = 1,  // memory that others may change
        atomic = 2, // reads and writes at once
        writes = 4,
    };
};
static_assert(sizeof(Inst) == 64);

// The 64 classes that undef numbers (exec/warp.h) fall into, a bit each: tell at once that lists have none in common.
inline uint64_t class_of(uint32_t number) { return 1ull << number % 64; }
inline uint64_t classes_of(const std::vector<uint16_t>& numbers) {
    uint64_t classes = 0;
    for (uint16_t n : numbers) classes |= class_of(n);
    return classes;
}

// The rest of an instruction that an Inst cannot hold.
struct Extra {
    std::vector<uint16_t> r;  // all operands, if they are more than INLINE_OPERANDS
    std::vector<int64_t> imm; // what pick() chose beyond Inst::imm
};

// What only reports, counters and the slow path need of an instruction; parallel to the code.
struct InstInfo {
    uint32_t op = 0; // row of the opcode table
    uint32_t line = 0;
    uint32_t file = 0;       // index into Module::files
    uint32_t reconverge = 0; // branch: pc of the immediate post-dominator (code size: none)
    Taint taint = Taint::spread;
    int8_t mask_at = -1;       // entry of r with the member mask of a .sync instruction
    std::vector<uint16_t> dst; // undef numbers of the destinations: slot, or slots + predicate number
    std::vector<uint16_t> src;
    std::vector<uint16_t> src_names; // of src: index into Kernel::reg_names
    std::vector<uint8_t> src_bytes;  // of src: how many of its low bytes are read at most
    uint32_t choosers = 0;           // of src, a bit each: not data, but what is done with the data (trait::bitwise)
    std::string text;                // "ld.shared.v4.b32", for messages
};

// An operand and an instruction as pick() sees them (load time only; strings are fine here).
struct Operand {
    enum Kind : uint8_t { reg, pred, imm, special, symbol, address, sink, label, vector } kind = sink;
    Type type = Type::none;     // of the register
    uint8_t bytes_read = 16;    // of a source, at most: a register may be wider than the type
    uint16_t slot = NO_REG;     // register slot or predicate number; of the base register if an address
    bool negated = false;       // !p
    uint64_t value = 0;         // immediate (bits), symbol address, address offset
    std::vector<Operand> parts; // vector, d|p, or what an address holds beside its register
    std::string name;
};
struct Form {
    std::string_view mnemonic;
    std::vector<std::string_view> mods; // "sync", "aligned", "m16n8k16", "row", ... in the order of the row's grammar
    std::vector<Type> types;            // those mods that are types, in order
    std::vector<Operand> operands;
    Space space = Space::generic; // the first that is named
    Order order;
    unsigned vec = 1;      // .v2 .v4 .v8
    unsigned count = 1;    // matrices (.x2 .x4) or dimensions (.1d to .5d)
    unsigned chip = 0;     // the major number of the device's compute capability
    Extra* more = nullptr; // where pick() puts what Inst has no room for
    bool has(std::string_view mod) const {
        for (auto m : mods)
            if (m == mod) return true;
        return false;
    }
    Type type(unsigned i = 0) const { return i < types.size() ? types[i] : Type::none; }
};
// A family's choice: looks at the form, may set in.imm/sub/target/flags, returns the handler specialised for it,
// or nullptr (refused at load: "no such combination"). One set for each build of exec (plain, AVX2, AVX-512).
using Pick = Handler (*)(const Form& form, Inst& in);

struct Param {
    ParamInfo info;
    Type type;
};

struct Variable { // module- or kernel-scope storage
    std::string name;
    Space space = Space::shared;
    uint32_t align = 4;
    uint64_t bytes = 0;   // 0: extern .shared (dynamic)
    uint64_t address = 0; // shared: offset in the block's shared memory; global: device address (set at load)
    std::vector<uint8_t> init;
    bool of_call = false;  // .param of a function or of its call: the address is one of local memory
    uint16_t frame = 0;    // the register with the place of the frame in which the variable lies; 0: none
    bool argument = false; // such a one as its function sees it, which may not change it
};

// A variable in a thread's local memory, or in a block's shared memory; the last one there may be its dynamic memory:
// bytes 0, known at launch.
struct StoragePlace {
    std::string name;
    uint32_t from, bytes;
};

struct Const {
    uint16_t slot;
    uint8_t wide;
    uint64_t bits;
}; // an immediate and the slot that holds it
struct SpecialReg {
    uint16_t slot;
    uint8_t which;
}; // see exec/special.h

struct Kernel {
    KernelInfo info;
    const Module* module = nullptr;
    std::vector<Inst> code;
    std::vector<InstInfo> infos;
    std::vector<Extra> extras; // the first is empty
    uint32_t slots = 0;        // register file size, in slots of 32 x 4 bytes
    uint32_t preds = 2;        // 0 is true, 1 is false
    uint32_t local_bytes = 0;
    uint32_t static_smem = 0; // as on the card; here there are red zones between variables:
    uint32_t shared_end = 0;  // the address after all of them, where dynamic shared memory begins
    std::vector<StoragePlace> shared_places, local_places;
    std::vector<uint32_t> local_inside; // bit n: byte n of local memory is of a variable; empty: all are
    uint32_t req_threads = 0;           // .reqntid product, 0: none
    bool uses_dynamic_smem = false;
    bool uses_heap = false; // allocations change while it runs: such a launch has one host thread
    mutable std::atomic<uint64_t> of_cluster_lately = 0; // warp instructions of each, in the last launch that ended
    std::vector<Const> consts;
    std::vector<SpecialReg> specials;
    std::vector<uint64_t> touches;         // by each instruction: classes of its registers and predicates
    std::vector<uint64_t> writes;          // the same of those that it writes
    std::vector<uint16_t> form_of;         // by each instruction: which of these it is like
    std::vector<uint32_t> forms;           // instructions that differ in their text, a place of each, sorted by text
    std::vector<uint16_t> maybe_undefined; // undef numbers that some path may read before writing
    std::vector<std::string> reg_names;    // of all registers, for messages
    std::vector<uint8_t> slot_words;       // how many slots the register has that begins at this one
};

// The operands of an instruction that may have more than INLINE_OPERANDS; of all others Inst::r holds them.
inline const uint16_t* operands_of(const Kernel& kernel, const Inst& in) {
    return in.nregs > INLINE_OPERANDS ? kernel.extras[in.extra].r.data() : in.r;
}

class Module {
public:
    ~Module();
    Memory* memory = nullptr; // holds the module-scope variables; outlives the module
    std::vector<std::unique_ptr<Kernel>> kernels;
    std::vector<std::string> files;
    std::vector<Variable> globals;
    std::unordered_map<std::string_view, const Variable*> globals_by_name; // complete before kernels are built
    std::string target;
    const DeviceProfile* device = nullptr;
};

// What a row of the opcode table says beside its grammars. Taints are the low two bits.
namespace trait {
enum Bits : uint32_t {
    spread = uint32_t(Taint::spread),
    use = uint32_t(Taint::use),
    load = uint32_t(Taint::load),
    own = uint32_t(Taint::own),
    taints = 3,
    aligned = 1 << 2, // all live lanes must be here together, though the text does not say .aligned
    barrier = 1 << 3, // a barrier of the block: its misuse is one of a barrier
    waits = 1 << 4,   // may have to wait for others
    branch = 1 << 5,  // goes to a label
    ends = 1 << 6,    // the thread does not go on
    orders = 1 << 7,  // loads that late_reads holds back are delivered before it
    late = 1 << 8,    // late_reads may hold it back, if it reads shared memory
    copies = 1 << 9,  // needs the asynchronous engine
    // The order that the row has unless a modifier says another one.
    relaxed = 1 << 10,
    acquire = 1 << 11,
    release = 1 << 12,
    acq_rel = 1 << 13,
    sc = 1 << 14,
    gpu_scope = 1 << 15, // the scope that it has unless a modifier says another one; else .cta
    specific = 1 << 16,  // needs a target of one architecture or family: sm_120a, sm_120f
    cancels = 1 << 17,   // of a register with itself: 0, whatever it holds
    // What undefined bits of a source reach; without one of these, all bits of the results.
    bitwise = 1 << 18,       // a bit of a result is made of one bit of each source; sources that choose which reach all
    upward = 1 << 19,        // the same bit and those above it
    halves = 1 << 20,        // the same 16 bits
    words = 1 << 21,         // the same 32 bits
    combines = 1 << 22,      // a comparison, unless its predicate decides; with bitwise
    stores = 1 << 23,        // to shared memory also what is undefined: then the bytes are
    cluster_scope = 1 << 24, // as gpu_scope
    special = 1 << 25,       // a source may be a special register
    moves = 1 << 26,         // takes values elsewhere and makes none; with bitwise
    swaps = 1 << 27,         // compares with what memory holds, and says what that was
    unseeing = 1 << 28,      // need not see what the same launch wrote
    compares = 1 << 29,      // two integers; Inst::sub says how
    rows = 1 << 30,          // stores rows that lanes name, made of what many lanes hold (exec/matrix_bytes.h)
};
constexpr Bits operator|(Bits a, Bits b) { return Bits(uint32_t(a) | uint32_t(b)); }
} // namespace trait

// The opcode table (ir/opcodes.inc), one row for each form.
struct OpRow {
    std::string_view mnemonic, family, grammar, operands;
    int ptx_min, target_min; // 88, 120
    trait::Bits traits;
    std::string_view pipe; // counter class: alu fma mufu cvt lsu async tensor control sync warp
    std::string_view meaning;
    Taint taint() const { return Taint(traits & trait::taints); }
    bool is(trait::Bits trait) const { return (traits & trait) != 0; }
};
std::span<const OpRow> op_rows();
inline const OpRow& row_of(const InstInfo& info) { return op_rows()[info.op]; }

} // namespace emu
