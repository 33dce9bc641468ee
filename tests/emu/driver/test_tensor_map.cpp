// SPDX-License-Identifier: Apache-2.0
// Tensor maps: every rule that the driver's interface states for them, and what each refusal says.
#include "tests/emu/driver/fixture.h"

namespace {

// A sound map of a matrix of f16; each test breaks one thing.
struct Ask {
    unsigned type = 6;
    cuuint32_t rank = 2;
    uint64_t address = 0x10000;
    cuuint64_t dim[6] = {100, 50, 2, 2, 2, 2}, stride[5] = {256, 16384, 65536, 65536, 65536};
    cuuint32_t box[6] = {64, 8, 1, 1, 1, 1}, step[6] = {1, 1, 1, 1, 1, 1};
    unsigned interleave = 0, swizzle = 3, promotion = 0, fill = 0;
    CUtensorMap map = {};

    CUresult encode() {
        return cuTensorMapEncodeTiled(&map, type, rank, reinterpret_cast<void*>(address), dim, stride, box, step,
                                      interleave, swizzle, promotion, fill);
    }
};

void refuses(Ask& ask, CUresult code, const char* why) {
    spark_emu_clear_reports();
    const CUtensorMap before = ask.map;
    FAILS(code, ask.encode());
    assert_memory_equal(&before, &ask.map, sizeof before);
    if (!strstr(spark_emu_last_report(), why)) fail_msg("'%s' does not say '%s'", spark_emu_last_report(), why);
    assert_non_null(strstr(spark_emu_explain(code), why));
}
template <class F> void broken(const char* why, F breaks) {
    Ask ask;
    breaks(ask);
    refuses(ask, CUDA_ERROR_INVALID_VALUE, why);
}
template <class F> void lacking(const char* why, F asks) {
    Ask ask;
    asks(ask);
    refuses(ask, CUDA_ERROR_NOT_SUPPORTED, why);
}
template <class F> void accepted(F asks) {
    Ask ask;
    asks(ask);
    OK(ask.encode());
}

} // namespace

static void takes_what_is_sound(void**) {
    const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
    for (unsigned type = 0; type < 10; type++) accepted([&](Ask& a) { a.type = type, a.box[0] = 128 / bytes[type]; });
    for (unsigned rank = 1; rank <= 5; rank++) accepted([&](Ask& a) { a.rank = rank; });
    accepted([](Ask& a) { a.dim[1] = cuuint64_t{1} << 32; });
    accepted([](Ask& a) { a.stride[0] = (cuuint64_t{1} << 40) - 16; });
    accepted([](Ask& a) { a.box[1] = 256, a.step[1] = 8; });
    accepted([](Ask& a) { a.step[0] = 77; }); // of dimension 0: ignored
    accepted([](Ask& a) { a.box[0] = 256, a.swizzle = 0; });
    accepted([](Ask& a) { a.box[0] = 16, a.swizzle = 1; });
    accepted([](Ask& a) { a.promotion = 3, a.fill = 1; });
}

static void refuses_a_bad_tensor(void**) {
    broken("tensorDataType", [](Ask& a) { a.type = 16; });
    broken("tensorRank is not from 1 to 5", [](Ask& a) { a.rank = 0; });
    broken("tensorRank is not from 1 to 5", [](Ask& a) { a.rank = 6; });
    broken("tensorRank is not from 1 to 5", [](Ask& a) { a.rank = 258; }); // no wrapping
    broken("globalAddress is no multiple of 16", [](Ask& a) { a.address += 8; });
    broken("globalDim[1] is not from 1 to 2^32", [](Ask& a) { a.dim[1] = 0; });
    broken("globalDim[0] is not from 1 to 2^32", [](Ask& a) { a.dim[0] = (cuuint64_t{1} << 32) + 1; });
    broken("globalStrides[0] is no multiple of 16", [](Ask& a) { a.stride[0] = 200; });
    broken("globalStrides[0] is not below 2^40", [](Ask& a) { a.stride[0] = cuuint64_t{1} << 40; });
    broken("globalStrides[1]", [](Ask& a) { a.rank = 3, a.stride[1] = 8; });
}

static void refuses_a_bad_box(void**) {
    broken("boxDim[1] is not from 1 to 256", [](Ask& a) { a.box[1] = 0; });
    broken("boxDim[1] is not from 1 to 256", [](Ask& a) { a.box[1] = 257; });
    broken("boxDim[1] is not from 1 to 256", [](Ask& a) { a.box[1] = 65537; });
    broken("elementStrides[1] is not from 1 to 8", [](Ask& a) { a.step[1] = 0; });
    broken("elementStrides[1] is not from 1 to 8", [](Ask& a) { a.step[1] = 9; });
    broken("24 bytes: no multiple of 16", [](Ask& a) { a.box[0] = 12; });
    broken("144 bytes: more than the 128 that the swizzle spans", [](Ask& a) { a.box[0] = 72; });
    broken("80 bytes: more than the 64", [](Ask& a) { a.box[0] = 40, a.swizzle = 2; });
    broken("48 bytes: more than the 32", [](Ask& a) { a.box[0] = 24, a.swizzle = 1; });
    broken("interleave is none", [](Ask& a) { a.interleave = 3; });
    broken("swizzle is none", [](Ask& a) { a.swizzle = 7; });
    broken("l2Promotion is none", [](Ask& a) { a.promotion = 4; });
    broken("oobFill is none", [](Ask& a) { a.fill = 2; });
    broken("oobFill asks for NaN, and UINT16 has none", [](Ask& a) { a.type = 1, a.fill = 1; });
    broken("below 3 with an interleaved layout", [](Ask& a) { a.interleave = 1; });
    broken("no multiple of 32", [](Ask& a) { a.interleave = 2, a.rank = 3, a.swizzle = 1, a.address += 16; });
    broken("swizzle is not 32B", [](Ask& a) { a.interleave = 2, a.rank = 3; });
}

static void refuses_bad_pointers(void**) {
    Ask a;
    const auto encode = [&](void* map, const cuuint64_t* dim, const cuuint64_t* stride, const cuuint32_t* box,
                            const cuuint32_t* step, unsigned rank) {
        return cuTensorMapEncodeTiled(static_cast<CUtensorMap*>(map), a.type, rank, nullptr, dim, stride, box, step, 0,
                                      0, 0, 0);
    };
    FAILS(CUDA_ERROR_INVALID_VALUE, encode(nullptr, a.dim, a.stride, a.box, a.step, 2));
    FAILS(CUDA_ERROR_INVALID_VALUE, encode(&a.map.opaque[1], a.dim, a.stride, a.box, a.step, 2));
    FAILS(CUDA_ERROR_INVALID_VALUE, encode(&a.map, nullptr, a.stride, a.box, a.step, 2));
    FAILS(CUDA_ERROR_INVALID_VALUE, encode(&a.map, a.dim, nullptr, a.box, a.step, 2));
    FAILS(CUDA_ERROR_INVALID_VALUE, encode(&a.map, a.dim, a.stride, nullptr, a.step, 2));
    FAILS(CUDA_ERROR_INVALID_VALUE, encode(&a.map, a.dim, a.stride, a.box, nullptr, 2));
    OK(encode(&a.map, a.dim, nullptr, a.box, a.step, 1)); // nothing has a stride
}

static void says_what_is_not_emulated(void**) {
    lacking("CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 is not emulated", [](Ask& a) { a.type = 11, a.box[0] = 32; });
    lacking("16U4_ALIGN8B", [](Ask& a) { a.type = 13; });
    lacking("interleaved layouts", [](Ask& a) { a.interleave = 1, a.rank = 3; });
    lacking("CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B is not emulated", [](Ask& a) { a.swizzle = 4; });
}

static void replaces_the_address(void**) {
    Ask a, b;
    OK(a.encode());
    b.address = 0x20000;
    OK(b.encode());
    OK(cuTensorMapReplaceAddress(&a.map, reinterpret_cast<void*>(b.address)));
    assert_memory_equal(&a.map, &b.map, sizeof a.map);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress(&a.map, reinterpret_cast<void*>(b.address + 1)));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress(nullptr, nullptr));
    assert_memory_equal(&a.map, &b.map, sizeof a.map);
    a.map.opaque[9] ^= 1;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress(&a.map, nullptr)); // no map any more
    assert_non_null(strstr(spark_emu_last_report(), "never encoded"));
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_is_sound),       cmocka_unit_test(refuses_a_bad_tensor),
        cmocka_unit_test(refuses_a_bad_box),         cmocka_unit_test(refuses_bad_pointers),
        cmocka_unit_test(says_what_is_not_emulated), cmocka_unit_test(replaces_the_address),
    };
    return cmocka_run_group_tests_name("tensor_map", tests, open_context, close_context);
}
