// SPDX-License-Identifier: Apache-2.0
// load_module: text -> Ast -> decoded kernels, and the questions that the facade asks of a module.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <unordered_set>

#include "../engine_limits.h"
#include "../mem/memory.h"
#include "builder.h"

namespace emu {
namespace {

// sm_120f runs on every 12.x, sm_120a on 12.0 only, sm_90 on 9.0 and later.
std::string target_problem(const std::string& target, const DeviceProfile& device) {
    unsigned sm = 0;
    const char* const stop = target.data() + target.size();
    const char* kind = target.data();
    if (target.starts_with("sm_")) kind = std::from_chars(kind + 3, stop, sm).ptr;
    if (sm == 0 || stop - kind > 1 || (kind != stop && *kind != 'a' && *kind != 'f'))
        return "the target " + text::quoted(target) + " is not known";
    const unsigned have = unsigned(device.cc_major * 10 + device.cc_minor);
    bool runs = sm <= have;
    if (kind != stop && *kind == 'a') runs = sm == have;
    else if (kind != stop) runs = sm <= have && sm / 10 == unsigned(device.cc_major);
    if (runs) return {};
    return "the target " + target + " does not run on compute capability " + std::to_string(device.cc_major) + "." +
           std::to_string(device.cc_minor) + " (" + device.key + ")";
}

// The bits of the elements, as the type holds them.
std::vector<uint8_t> initial_bytes(const text::Variable& v, Type type, uint64_t bytes) {
    std::vector<uint8_t> out(bytes);
    const unsigned size = bytes_of(type);
    for (size_t i = 0; i < v.init.size(); i++) {
        uint64_t bits = v.init[i];
        if (v.init_float[i] && type == Type::f32) {
            double d;
            memcpy(&d, &bits, 8);
            float f = float(d);
            memcpy(&bits, &f, 4);
        }
        memcpy(out.data() + i * size, &bits, std::min(size, 8u));
    }
    return out;
}

// Module-scope variables, one after the other: what is wrong with one, or nothing.
class Globals {
public:
    Globals(Module& module, Memory* memory) : module_(module), memory_(memory) {}
    std::string add(const text::Variable& v) {
        const Type type = type_named(v.type);
        const unsigned size = bytes_of(type) * v.vec;
        if (!size) return text::quoted(v.type) + " is not a type of a variable";
        Variable g;
        g.name = v.name;
        g.space = v.space == ".shared" ? Space::shared : v.space == ".const" ? Space::constant : Space::global;
        g.align = uint32_t(std::max<uint64_t>(v.align, size));
        const uint64_t given = (v.init.size() + v.vec - 1) / v.vec;
        g.bytes = (v.elements ? v.elements : g.space == Space::shared ? 0 : given) * size;
        std::string problem = too_large(v, g);
        if (problem.empty() && given * size > g.bytes)
            problem = text::quoted(v.name) + " has " + std::to_string(v.init.size()) + " initial values for " +
                      std::to_string(v.elements) + " elements";
        Variable& kept = module_.globals.emplace_back(std::move(g));
        return problem.empty() && kept.space != Space::shared ? allocate(v, type, kept) : problem;
    }
    // Adds the address that an element names; all variables have theirs by now.
    std::string link(const text::Variable& v, const text::Link& link, const Variable& g, const Subroutines& calls) {
        const Type type = type_named(v.type);
        if (bytes_of(type) != 8 || is_float(type))
            return "an address has 64 bits, the elements of " + text::quoted(v.name) + " have the type " +
                   std::string(name_of(type));
        if (const uint64_t function = calls.address(link.name)) {
            memory_->write(g.address + link.element * 8, &function, 8);
            return {};
        }
        const auto to = module_.globals_by_name.find(link.name);
        if (to == module_.globals_by_name.end()) return calls.unknown(link.name);
        if (to->second->space == Space::shared)
            return text::quoted(link.name) + " is in .shared: each block has its own, and no address before it runs";
        const uint64_t address = to->second->address + v.init[link.element];
        memory_->write(g.address + link.element * 8, &address, 8);
        return {};
    }

private:
    std::string too_large(const text::Variable& v, const Variable& g) {
        uint64_t& used = used_[v.space == ".shared" ? 0 : v.space == ".const" ? 1 : 2];
        const uint64_t most = v.space == ".shared"  ? limits::SHARED_BYTES
                              : v.space == ".const" ? limits::CONST_BYTES
                                                    : limits::GLOBAL_BYTES;
        used += g.bytes;
        if (used <= most) return {};
        return "the text's " + std::string(v.space) + " variables take " + std::to_string(used) + " bytes up to " +
               text::quoted(v.name) + "; " + std::to_string(most) + " is the most";
    }
    std::string allocate(const text::Variable& v, Type type, Variable& g) {
        if (!memory_) return "module-scope variables need a memory to live in";
        if (!g.bytes) return text::quoted(v.name) + " has no elements";
        g.address = memory_->alloc(g.bytes, std::max(g.align, 256u));
        if (!g.address) return "no memory for " + text::quoted(v.name);
        if (v.init.empty()) memory_->fill(g.address, "", 1, g.bytes); // zero, as PTX says
        else memory_->write(g.address, initial_bytes(v, type, g.bytes).data(), g.bytes);
        return {};
    }
    Module& module_;
    Memory* memory_;
    uint64_t used_[3] = {}; // bytes of .shared, .const and all others
};

LoadResult load(std::string_view ptx, const DeviceProfile& device, Memory* memory) {
    LoadResult result;
    const text::Ast ast = text::parse(ptx);
    std::vector<std::string> errors = ast.errors;
    auto module = std::make_shared<Module>();
    module->files = ast.files;
    module->target = ast.target;
    module->device = &device;
    module->memory = memory;
    auto refuse = [&](text::Place place, const std::string& problem) {
        if (!problem.empty() && errors.size() < limits::ERRORS) errors.push_back(ast.complaint(place, problem));
    };
    if (errors.empty())
        if (std::string problem = target_problem(ast.target, device); !problem.empty()) errors.push_back(problem);
    Globals globals(*module, memory);
    for (size_t i = 0; i < ast.globals.size() && errors.empty(); i++)
        refuse(ast.globals[i].place, globals.add(ast.globals[i]));
    std::unordered_set<std::string_view> names;
    auto once = [&](const auto& one) {
        if (!names.emplace(one.name).second) refuse(one.place, text::quoted(one.name) + " is defined twice");
    };
    for (const text::Variable& v : ast.globals)
        if (!v.is_extern) once(v); // a declaration may be repeated
    for (const text::Function& f : ast.functions) once(f);
    for (const text::Function& f : ast.subroutines)
        if (f.has_body) once(f);
    Subroutines calls(ast);
    for (const Variable& g : module->globals) module->globals_by_name.emplace(g.name, &g);
    for (size_t i = 0; i < ast.globals.size() && errors.empty(); i++)
        for (const text::Link& link : ast.globals[i].links)
            refuse(link.place, globals.link(ast.globals[i], link, module->globals[i], calls));
    for (const text::Function& f : ast.functions) {
        if (!errors.empty()) break;
        auto kernel = std::make_unique<Kernel>();
        Builder(ast, f, calls, *module, *kernel, errors).run();
        module->kernels.push_back(std::move(kernel));
    }
    if (errors.empty()) result.module = module;
    for (const std::string& e : errors) result.log += e + "\n";
    return result;
}

} // namespace

Module::~Module() {
    if (!memory) return;
    for (const Variable& g : globals)
        if (g.space != Space::shared && g.address) memory->free(g.address);
}

LoadResult load_module(std::string_view ptx, const DeviceProfile& device, Memory* memory) {
    try {
        return load(ptx, device, memory);
    } catch (const std::bad_alloc&) {
        return {nullptr, "the host has no memory left for this text\n"};
    }
}

std::vector<const Kernel*> kernels_of(const Module& module) {
    std::vector<const Kernel*> all;
    for (auto& k : module.kernels) all.push_back(k.get());
    return all;
}

const KernelInfo& info_of(const Kernel& kernel) { return kernel.info; }

bool global_of(const Module& module, std::string_view name, uint64_t& address, uint64_t& bytes) {
    for (const Variable& g : module.globals) {
        if (g.name != name || g.space == Space::shared) continue;
        address = g.address;
        bytes = g.bytes;
        return true;
    }
    return false;
}

} // namespace emu
