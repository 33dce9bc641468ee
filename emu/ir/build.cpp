// SPDX-License-Identifier: Apache-2.0
// Names and storage of a kernel: parameters, scopes, registers, shared and local variables, labels. Drives the other
// parts of the Builder in order.
#include <algorithm>
#include <map>
#include <tuple>

#include "../engine_limits.h"
#include "builder.h"

namespace emu {
namespace {
uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }
} // namespace

Builder::Builder(const text::Ast& ast, const text::Function& function, Subroutines& calls, Module& module,
                 Kernel& kernel, std::vector<std::string>& errors)
    : ast_(ast), function_(function), calls_(calls), module_(module), kernel_(kernel), errors_(errors) {
    target_ = unsigned(atoi(ast.target.c_str() + 3)); // sm_120f
    add_reg({"%true", Type::pred, 0, VirtualReg::constant, 1});
    add_reg({"%false", Type::pred, 0, VirtualReg::constant, 0});
}

void Builder::error(text::Place place, const std::string& what) {
    ++faults_;
    const std::string all = ast_.complaint(place, what);
    const bool said = std::find(errors_.begin(), errors_.end(), all) != errors_.end(); // in another call of a function
    if (!said && errors_.size() < limits::ERRORS) errors_.push_back(all);
}

uint16_t Builder::add_reg(VirtualReg reg) {
    if (regs_.size() >= limits::REGISTERS) {
        if (!full_)
            error(place_,
                  "the kernel has more than " + std::to_string(limits::REGISTERS) + " registers, immediates included");
        full_ = true;
        return 0;
    }
    regs_.push_back(std::move(reg));
    return uint16_t(regs_.size() - 1);
}

uint16_t Builder::constant(uint64_t bits, unsigned wide) {
    auto key = std::make_pair(bits, wide);
    auto it = constants_.find(key);
    if (it != constants_.end()) return it->second;
    uint16_t reg = add_reg({"constant", wide == 1 ? Type::b32 : Type::b64, uint8_t(wide), VirtualReg::constant, bits});
    constants_[key] = reg;
    return reg;
}

uint16_t Builder::trash(Type type) {
    unsigned bytes = bytes_of(type);
    return add_reg({"_", type, uint8_t(type == Type::pred ? 0 : bytes <= 4 ? 1 : bytes / 4), VirtualReg::trash, 0});
}

int Builder::find_reg(std::string_view name) const {
    std::string key(name);
    for (int s = scope_; s >= 0; s = scopes_[size_t(s)].parent) {
        auto it = scopes_[size_t(s)].regs.find(key);
        if (it != scopes_[size_t(s)].regs.end()) return it->second;
    }
    if (const auto it = hidden_.regs.find(key); it != hidden_.regs.end()) return it->second;
    return -1;
}

const Variable* Builder::find_var(std::string_view name) const {
    std::string key(name);
    for (int s = scope_; s >= 0; s = scopes_[size_t(s)].parent) {
        auto it = scopes_[size_t(s)].vars.find(key);
        if (it != scopes_[size_t(s)].vars.end()) return &it->second;
    }
    if (auto it = module_shared_.find(key); it != module_shared_.end()) return &it->second;
    auto it = module_.globals_by_name.find(name);
    return it == module_.globals_by_name.end() ? nullptr : it->second;
}

uint32_t Builder::find_label(std::string_view name, bool& found) const {
    std::string key(name);
    for (int s = scope_; s >= 0; s = scopes_[size_t(s)].parent) {
        auto it = scopes_[size_t(s)].labels.find(key);
        found = it != scopes_[size_t(s)].labels.end();
        if (found) return it->second;
    }
    const auto it = hidden_.labels.find(key);
    found = it != hidden_.labels.end();
    return found ? it->second : 0;
}

void Builder::parameters() {
    uint64_t at = 0;
    for (const text::Variable& p : function_.params) {
        Type type = type_named(p.type);
        unsigned size = bytes_of(type);
        if (!size) {
            error(p.place, text::quoted(p.type) + " is not a type of a parameter");
            continue;
        }
        if (p.elements == 0) return error(p.place, text::quoted(p.name) + " has no elements");
        uint64_t align = std::max<uint64_t>(p.align, size), bytes = size * (p.is_array ? p.elements : 1);
        at = round_up(at, align);
        if (at + bytes > limits::PARAMETER_BYTES)
            return error(p.place, "the parameters take " + std::to_string(at + bytes) + " bytes up to " +
                                      text::quoted(p.name) + "; " + std::to_string(limits::PARAMETER_BYTES) +
                                      " is the most");
        kernel_.info.params.push_back({std::string(p.name), uint32_t(at), uint32_t(bytes), uint32_t(align)});
        Variable v;
        v.name = p.name;
        v.space = Space::param;
        v.bytes = bytes;
        v.address = at;
        Variable& kept = scopes_[0].vars[v.name]; // hides a variable of the module
        if (kept.space == Space::param) error(p.place, text::quoted(p.name) + " is declared twice in this scope");
        kept = v;
        at += bytes;
    }
    kernel_.info.param_bytes = uint32_t(at);
}

// Scopes and labels first: a branch may go forward. The scope of each item.
std::vector<int> Builder::scan_labels(const text::Function& f, int scope) {
    std::vector<int> scope_of;
    scope_of.reserve(f.items.size());
    for (const text::Item& item : f.items) {
        if (item.kind == text::Item::open) scope = open_scope(scope);
        scope_of.push_back(scope);
        if (item.kind == text::Item::close) scope = scopes_[size_t(scope)].parent;
        if (item.kind != text::Item::label) continue;
        if (!scopes_[size_t(scope)].labels.emplace(item.name, uint32_t(labels_.size())).second)
            error(item.place, "the label " + text::quoted(item.name) + " is defined twice");
        labels_.push_back(0);
    }
    return scope_of;
}

// The statements of the kernel, or of a function where it is called. `instead`: the place of all of them.
void Builder::body(const text::Function& f, int scope, const text::Place* instead) {
    const std::vector<int> scope_of = scan_labels(f, scope);
    for (size_t i = 0; i < f.items.size() && !full_ && errors_.size() < limits::ERRORS; i++) {
        const text::Item& item = f.items[i];
        scope_ = scope_of[i];
        place_ = instead ? *instead : item.place;
        if (item.kind == text::Item::label) set_label(scope_, std::string(item.name));
        if (item.kind == text::Item::variable) declare(f.variables[item.index]);
        if (item.kind == text::Item::instruction) statement(f.instructions[item.index]);
    }
}

void Builder::resolve_labels() {
    for (uint32_t pc = 0; pc < kernel_.code.size(); pc++) {
        if (!row_of(kernel_.infos[pc]).is(trait::branch)) continue;
        each_target(pc, [&](uint32_t& target) {
            target = labels_[target];
            if (target <= pc) kernel_.code[pc].flags |= Inst::backward;
        });
    }
}

void Builder::declare_registers(const text::Variable& v) {
    Type type = type_named(v.type);
    unsigned bytes = bytes_of(type);
    bool known = type == Type::pred ||
                 (bytes && (!is_float(type) || type == Type::f16 || type == Type::bf16 || type == Type::f16x2 ||
                            type == Type::bf16x2 || type == Type::f32 || type == Type::f64));
    if (!known || v.vec != 1 || v.is_array)
        return error(v.place, "a register cannot have the type " + text::quoted(v.type));
    auto one = [&](const std::string& name) {
        uint8_t wide = type == Type::pred ? 0 : uint8_t(bytes <= 4 ? 1 : bytes / 4);
        uint16_t reg = add_reg({name, type, wide, VirtualReg::declared, 0});
        if (!scopes_[size_t(scope_)].regs.emplace(name, reg).second)
            error(v.place, "the register " + text::quoted(name) + " is declared twice in this scope");
    };
    if (!inside_.empty()) calls_.registers += v.count;
    if (calls_.registers > limits::TEXT_REGISTERS) {
        full_ = true;
        return error(v.place,
                     "calls add more than " + std::to_string(limits::TEXT_REGISTERS) + " registers to the text");
    }
    if (!v.count) return one(std::string(v.name));
    const uint64_t before = faults_;
    for (uint64_t i = 0; i < v.count && faults_ == before; i++) one(std::string(v.name) + std::to_string(i));
}

// The next place in a space of which a block, or a thread, has `most` bytes.
bool Builder::place(const text::Variable& from, Variable& var, uint64_t& used, uint64_t most, const char* kind) {
    var.address = round_up(used, var.align);
    used = var.address + var.bytes;
    if (used <= most) return true;
    error(from.place, "the kernel's " + std::string(kind) + " variables take " + std::to_string(used) +
                          " bytes up to " + text::quoted(from.name) + "; " + std::to_string(most) + " is the most");
    return false;
}

void Builder::declare(const text::Variable& v) {
    if (v.space == ".reg") return declare_registers(v);
    Type type = type_named(v.type);
    unsigned size = bytes_of(type) * v.vec;
    Variable var;
    var.name = v.name;
    var.align = uint32_t(std::max<uint64_t>(v.align, size));
    var.bytes = size * v.elements;
    if (!size) return error(v.place, text::quoted(v.type) + " is not a type of a variable");
    if (v.space == ".shared" && (v.is_extern || v.elements == 0)) {
        var.bytes = 0;
        shared_dynamic_align_ = std::max(shared_dynamic_align_, var.align);
    } else if (v.space == ".shared") {
        const auto [at, fresh] = shared_at_.emplace(&v, 0);
        if (fresh && !place(v, var, shared_bytes_, limits::SHARED_BYTES, "shared")) return;
        if (fresh) at->second = keep_apart(var.name, var.address, var.bytes, var.align);
        var.address = at->second;
    } else if (v.space == ".local" || v.space == ".param") {
        var.of_call = v.space == ".param";
        var.space = var.of_call ? Space::param : Space::local;
        if (!groups_.empty()) {
            place_in_frame(v, var);
        } else {
            if (!place(v, var, local_bytes_, limits::LOCAL_BYTES, "local")) return;
            keep_local_apart(var);
        }
    } else {
        return error(v.place, text::quoted(v.space) + " is not supported inside a kernel");
    }
    if (!scopes_[size_t(scope_)].vars.emplace(var.name, var).second)
        error(v.place, text::quoted(var.name) + " is declared twice in this scope");
}

// The address of a shared variable whose place on the card is `offset`. Nothing says where one variable lies beside
// another, so here red zones lie between them; banks and swizzles see the same low bits as on the card.
uint64_t Builder::keep_apart(const std::string& name, uint64_t offset, uint64_t bytes, uint32_t align) {
    constexpr uint64_t ZONE = 1024;
    if (!kernel_.shared_places.empty() && shared_apart_ < limits::SHARED_BYTES)
        shared_apart_ = round_up(shared_apart_ + ZONE, std::max<uint64_t>(ZONE, align));
    const uint64_t at = SHARED_BASE + shared_apart_ + offset;
    kernel_.shared_places.push_back({name, uint32_t(at), uint32_t(bytes)});
    return at;
}

// The same for local memory. Those of calls stand side by side: the text alone says which of their bytes it means.
void Builder::keep_local_apart(Variable& var) {
    constexpr uint64_t ZONE = 64;
    const bool beside = var.of_call && !after_local_;
    if (!kernel_.local_places.empty() && !beside && local_apart_ < limits::LOCAL_BYTES)
        local_apart_ = round_up(local_apart_ + ZONE, std::max<uint64_t>(ZONE, var.align));
    after_local_ = !var.of_call;
    var.address += local_apart_;
    kernel_.local_bytes = uint32_t(var.address + var.bytes);
    kernel_.local_places.push_back({var.name, uint32_t(var.address), uint32_t(var.bytes)});
}
void Builder::mark_local() {
    if (!local_apart_) return;
    kernel_.local_inside.resize(kernel_.local_bytes / 32 + 1);
    for (const StoragePlace& p : kernel_.local_places)
        for (uint32_t a = p.from; a < p.from + p.bytes; a++) kernel_.local_inside[a / 32] |= 1u << a % 32;
}

// Dynamic shared memory follows the static one; its place is known only now.
void Builder::place_dynamic_shared() {
    kernel_.static_smem = uint32_t(round_up(shared_bytes_, shared_dynamic_align_ ? shared_dynamic_align_ : 1));
    if (dynamic_uses_.empty() && !kernel_.uses_dynamic_smem) kernel_.static_smem = uint32_t(shared_bytes_);
    uint64_t at = SHARED_BASE + shared_apart_ + kernel_.static_smem;
    if (kernel_.uses_dynamic_smem)
        at = keep_apart("dynamic shared memory", kernel_.static_smem, 0, shared_dynamic_align_);
    kernel_.shared_end = uint32_t(at);
    for (uint16_t reg : dynamic_uses_) regs_[reg].bits += at;
}

// What the kernel says of its clusters.
void Builder::check_cluster() {
    if (!function_.cluster_place.line) return;
    const uint32_t(&size)[3] = function_.reqnctapercluster;
    const uint32_t blocks = size[0] * size[1] * size[2];
    if (ast_.version < 78 || target_ < 90)
        error(function_.cluster_place, "clusters need .version 7.8 and .target sm_90 or later");
    if (blocks && function_.maxclusterrank)
        error(function_.cluster_place, ".reqnctapercluster and .maxclusterrank exclude each other");
    if (blocks > limits::CLUSTER_BLOCKS)
        error(function_.cluster_place, "a cluster of " + std::to_string(blocks) + " blocks; " +
                                           std::to_string(limits::CLUSTER_BLOCKS) + " is the most");
}

void Builder::finish_info() {
    KernelInfo& info = kernel_.info;
    info.name = function_.name;
    info.static_smem = kernel_.static_smem;
    auto product = [](const uint32_t(&d)[3]) { return d[0] * std::max(d[1], 1u) * std::max(d[2], 1u); };
    kernel_.req_threads = product(function_.reqntid);
    uint32_t most = kernel_.req_threads ? kernel_.req_threads : product(function_.maxntid);
    info.max_threads = most ? most : 1024;
    const uint32_t(&cluster)[3] = function_.reqnctapercluster;
    info.required_cluster = {cluster[0], cluster[1], cluster[2]};
    info.max_cluster = function_.maxclusterrank;
    info.explicit_cluster = function_.explicitcluster;
    for (const VirtualReg& r : regs_)
        if (r.kind == VirtualReg::declared) info.declared_regs += r.wide;
}

// A plain load of one value from where a compare and swap goes too, by the same register, is a guess: whatever it
// reads, the swap tells. So it may meet the swaps of others, as the first load of such a loop does.
void Builder::mark_guesses() {
    const auto place = [](const Inst& in) { return std::tuple(in.r[1], in.imm, in.bytes); };
    std::map<std::tuple<uint16_t, int64_t, uint8_t>, Order> swapped;
    for (size_t pc = 0; pc < kernel_.code.size(); ++pc) {
        const Inst& in = kernel_.code[pc];
        if (row_of(kernel_.infos[pc]).is(trait::swaps)) swapped.emplace(place(in), in.order);
    }
    for (Inst& in : kernel_.code) {
        if (in.access != Inst::reads || in.order.strong() || in.vec != 1 || in.nregs != 2) continue;
        const auto at = swapped.find(place(in));
        if (at == swapped.end()) continue;
        in.order.semantics = Semantics::relaxed;
        in.order.scope = at->second.scope;
    }
}

void Builder::run() {
    kernel_.module = &module_;
    kernel_.extras.push_back({});
    scopes_.push_back({});
    for (const Variable& v : module_.globals) {
        if (v.space == Space::shared) scopes_[0].vars[v.name] = v;
        if (v.space == Space::shared && v.bytes == 0) shared_dynamic_align_ = std::max(shared_dynamic_align_, v.align);
    }
    for (auto& [name, v] : scopes_[0].vars) { // module-scope static shared variables
        if (v.bytes == 0) continue;
        shared_bytes_ = round_up(shared_bytes_, v.align);
        v.address = keep_apart(name, shared_bytes_, v.bytes, v.align);
        shared_bytes_ += v.bytes;
    }
    if (shared_bytes_ > limits::SHARED_BYTES)
        return error(function_.place, "the text's shared variables take " + std::to_string(shared_bytes_) + " bytes; " +
                                          std::to_string(limits::SHARED_BYTES) + " is the most");
    module_shared_ = scopes_[0].vars;
    parameters();
    check_cluster();
    begin_stack();
    body(function_, 0, nullptr);
    scope_ = 0;
    end_stack();
    text::Instruction end; // a kernel may end without ret
    end.opcode = "exit";
    instruction(end, place_);
    if (!errors_.empty()) return;
    resolve_labels();
    place_dynamic_shared();
    mark_local();
    find_blocks();
    find_post_dominators();
    find_live_ranges();
    if (!errors_.empty()) return;
    mark_guesses();
    assign_slots();
    rewrite();
    finish_info();
}

} // namespace emu
