// SPDX-License-Identifier: Apache-2.0
// load_module: text -> Ast -> decoded kernels, and the questions that the facade asks of a module.
#include <algorithm>
#include <cstring>

#include "../exec/warp.h"
#include "../mem/memory.h"
#include "builder.h"

namespace emu {
namespace {

// sm_120f runs on every 12.x, sm_120a on 12.0 only, sm_90 on 9.0 and later.
std::string target_problem(const std::string& target, const DeviceProfile& device) {
    if (target.rfind("sm_", 0) != 0) return "the target '" + target + "' is not known";
    char* end = nullptr;
    int sm = int(strtol(target.c_str() + 3, &end, 10)), have = device.cc_major * 10 + device.cc_minor;
    bool runs = sm <= have;
    if (*end == 'a') runs = sm == have;
    else if (*end == 'f') runs = sm <= have && sm / 10 == device.cc_major;
    else if (*end) return "the target '" + target + "' is not known";
    if (runs) return {};
    return "the target " + target + " does not run on compute capability " + std::to_string(device.cc_major) + "." +
           std::to_string(device.cc_minor) + " (" + device.key + ")";
}

Variable global_variable(const text::Variable& v, std::string& problem) {
    Variable g;
    Type type = type_named(v.type);
    unsigned size = bytes_of(type);
    if (!size) problem = "'" + std::string(v.type) + "' is not a type of a variable";
    g.name = v.name;
    g.space = v.space == ".shared" ? Space::shared : Space::global;
    g.align = uint32_t(std::max<uint64_t>(v.align, size * v.vec));
    uint64_t elements = v.elements ? v.elements : (g.space == Space::shared ? 0 : v.init.size());
    g.bytes = elements * size * v.vec;
    if (!v.init.empty()) g.init.assign(g.bytes, 0);
    for (size_t i = 0; i < v.init.size() && (i + 1) * size <= g.init.size(); i++) {
        uint64_t bits = v.init[i];
        if (v.init_float[i] && type == Type::f32) {
            double d;
            memcpy(&d, &bits, 8);
            float f = float(d);
            memcpy(&bits, &f, 4);
        }
        memcpy(g.init.data() + i * size, &bits, std::min(size, 8u));
    }
    return g;
}

} // namespace

Module::~Module() {
    if (!memory) return;
    for (const Variable& g : globals)
        if (g.space == Space::global && g.address) memory->free(g.address);
}

LoadResult load_module(std::string_view ptx, const DeviceProfile& device, Memory* memory) {
    LoadResult result;
    text::Ast ast = text::parse(ptx);
    std::vector<std::string> errors = ast.errors;
    auto module = std::make_shared<Module>();
    module->files = ast.files;
    module->target = ast.target;
    module->device = &device;
    module->memory = memory;
    if (errors.empty()) {
        std::string problem = target_problem(ast.target, device);
        if (!problem.empty()) errors.push_back(problem);
    }
    for (const text::Variable& v : ast.globals) {
        std::string problem;
        Variable g = global_variable(v, problem);
        if (problem.empty() && g.space == Space::global) {
            if (!memory) problem = "module-scope variables need a memory to live in";
            else if (!(g.address = memory->alloc(g.bytes, std::max(g.align, 256u))))
                problem = "no memory for '" + g.name + "'";
            else if (g.init.empty()) memory->fill(g.address, "", 1, g.bytes); // zero, as PTX says
            else memory->write(g.address, g.init.data(), g.bytes);
        }
        if (!problem.empty())
            errors.push_back(ast.files[v.place.file] + ":" + std::to_string(v.place.line) + ": " + problem);
        module->globals.push_back(std::move(g));
    }
    for (const text::Function& f : ast.functions) {
        if (!errors.empty()) break;
        auto kernel = std::make_unique<Kernel>();
        Builder(ast, f, *module, *kernel, errors).run();
        module->kernels.push_back(std::move(kernel));
    }
    if (errors.empty()) result.module = module;
    for (const std::string& e : errors) result.log += e + "\n";
    return result;
}

std::vector<const Kernel*> kernels_of(const Module& module) {
    std::vector<const Kernel*> all;
    for (auto& k : module.kernels) all.push_back(k.get());
    return all;
}

const KernelInfo& info_of(const Kernel& kernel) { return kernel.info; }

bool global_of(const Module& module, std::string_view name, uint64_t& address, uint64_t& bytes) {
    for (const Variable& g : module.globals) {
        if (g.name != name || g.space != Space::global) continue;
        address = g.address;
        bytes = g.bytes;
        return true;
    }
    return false;
}

} // namespace emu
