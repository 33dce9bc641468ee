# SPDX-License-Identifier: Apache-2.0
# One kernel through the assembler: what a good one yields, and that each broken promise fails with the words that
# name it. Run by CTest as ptx.build. Needs ptxas (SPARK_PTXAS).
import hashlib
import os
import re
import shutil
import subprocess
import sys
import unittest
import zlib
from unittest import mock

from support import BODY, HEADER, PTXAS, TOP, ScratchTree, changed

import compressor
import expand
import images
import table
from assemble import EVERY, AssembleError, assemble, find_variant, write_depfile
from cubin import Cubin
from header import parse_tree


def decompress(frame):
    return compressor.module().decompress(frame)


def hungry(count):
    """A body that keeps `count` values alive across a barrier."""
    loads = "".join(f"    ld.volatile.global.f32 x{i}, [to+{4 * i}];\n" for i in range(count))
    stores = "".join(f"    st.volatile.global.f32 [to+{4 * i}], x{i};\n" for i in reversed(range(count)))
    return changed(BODY, ("    st.global.f32 [to], v;\n", loads + "    bar.sync 0;\n" + stores),
                   ("    .reg .f32 v;", f"    .reg .f32 v, x<{count}>;"))


@unittest.skipUnless(PTXAS, "SPARK_PTXAS is not set")
class Build(ScratchTree):
    def build(self, header=HEADER, body=BODY, out="out", name="fill__plain", archs=EVERY, cache=None):
        self.plant("fill/fill.ptx", header + body)
        return assemble(find_variant(name, self.root), self.root, self.top / out, PTXAS, archs, cache)

    def write_sources(self, text, code):
        (self.top / "out" / "spark_kernels.cpp").write_text(text)
        (self.top / "out" / "spark_images.S").write_text(code)

    def refuse(self, words, header=HEADER, body=BODY):
        with self.assertRaises(AssembleError) as caught:
            self.build(header, body)
        self.assertIn(words, str(caught.exception))
        self.assertFalse((self.top / "out" / "fill__plain.json").exists())


class Good(Build):
    def test_images(self):
        record, read = self.build()
        self.assertEqual([(i["kind"], i["arch"]) for i in record["images"]],
                         [("cubin", 120), ("cubin", 90), ("ptx", 120), ("ptx", 90)])
        self.assertTrue(0 < record["regs"]["120"] <= 32 and 0 < record["regs"]["90"] <= 32)
        self.assertEqual([os.path.relpath(f, self.root) for f in read], ["fill/fill.ptx", "lib/base.ptxh"])
        code = Cubin((self.top / "out" / "fill__plain.90.cubin").read_bytes())
        self.assertEqual((code.kernels(), code.params("fill__plain")), (["fill__plain"], [(0, 8), (8, 4)]))
        self.assertRegex(record["ptxas"], r"^\d+\.\d+\.\d+$")
        text = (self.top / "out" / "fill__plain.120.ptx").read_bytes()
        self.assertEqual((text.count(b"\0"), record["images"][2]["size"]), (0, len(text)))

    def test_stored_images(self):
        """Images of a family are stored together, and each can be taken out again: aligned, a NUL behind it."""
        header = changed(HEADER, ("kernel   fill ", "kernel   fill_{T} "),
                         ("//! block", "//! for T a b c d e f g h i j k\n//! block"))
        records = [self.build(header, name=f"fill_{T}__plain")[0] for T in "abcdefghijk"]
        found = images.bundles(records, self.top / "out")
        self.assertEqual([len(bundle.members) for bundle in found], [11] * 4)
        files = {(r["name"], i["kind"], i["arch"]): self.top / "out" / i["file"] for r in records for i in r["images"]}
        for bundle in found:
            content = decompress(bundle.stored)
            for (kernel, kind), first, end in zip(bundle.members, bundle.places, bundle.places[1:]):
                image = files.pop((kernel, kind, bundle.arch)).read_bytes()
                self.assertEqual((content[first:end].rstrip(b"\0"), first % 16), (image.rstrip(b"\0"), 0))
                self.assertLess(len(image), end - first)
            self.assertEqual(len(content), bundle.places[-1])
        self.assertEqual(files, {})

    def test_those_that_are_alike_are_stored_together(self):
        """Of a family's images the next is the one that has most in common with the bundle, until that is full."""
        size = images.LARGEST["cubin"] // 3
        marks = {"a": "12", "b": "34", "c": "23", "d": "35", "e": "9"}
        found = images.alike({(name, "cubin", ""): (size, set(marks[name])) for name in marks})
        self.assertEqual(["".join(name for name, *_ in group) for group in found], ["abc", "de"])
        found = images.alike({(name, "cubin", ""): (size + 1, set(marks[name])) for name in marks})
        self.assertEqual(["".join(name for name, *_ in group) for group in found], ["ac", "bd", "e"])

    def test_chips_share_an_order(self):
        """Images for the second chip lie together as those for the first, where they have room and are the same."""
        def found(*names, size=100):
            for name in names:
                (self.top / name).write_bytes(bytes(size))
            return [(name, "ptx", name) for name in names]
        ways = [found("a", "c"), found("b", "d")]
        self.assertEqual(images.as_before(ways, found("a", "b", "c"), self.top), [found("a", "c"), found("b")])
        self.assertIsNone(images.as_before(ways, found("a", "e"), self.top))
        self.assertIsNone(images.as_before(ways, found("a", "c", size=images.LARGEST["ptx"] // 2), self.top))

    def test_a_bundle_may_begin_with_any(self):
        """Where that leaves less to be stored twice."""
        marks = {"a": "123", "b": "1", "c": "2345", "d": "9"}
        found = images.alike({(name, "cubin", ""): (images.LARGEST["cubin"] // 2, set(marks[name])) for name in marks})
        self.assertEqual(["".join(name for name, *_ in group) for group in found], ["ac", "bd"])

    def test_images_are_exchanged(self):
        """Where greed has put one with another than the one it has most in common with: c goes from a to d."""
        marks = {"a": "35", "b": "26", "c": "134", "d": "136", "e": "246"}
        found = images.alike({(name, "cubin", ""): (images.LARGEST["cubin"] // 2, set(marks[name])) for name in marks})
        self.assertEqual(sorted("".join(name for name, *_ in group) for group in found), ["a", "be", "cd"])

    def test_marks(self):
        """The same of a part wherever it lies; of few parts."""
        statements = [b"add.u32 a, a, %d" % number for number in range(2000)]
        halves = [number.to_bytes(8, "little") for number in range(2000)]
        for kind, between, parts in (("ptx", b"\n", statements), ("ptx", b";", statements), ("cubin", b"", halves)):
            found = images.marks(between.join(parts), kind)
            self.assertEqual(found, images.marks(between.join(reversed(parts)), kind))
            self.assertTrue(150 < len(found) < 350)

    def test_bundles_are_packed_once(self):
        """What is there stays, what nothing needs any more goes."""
        record, _ = self.build()
        one = images.bundles([record], self.top / "out")
        (self.top / "out" / "bundles" / "old.zst").write_text("")
        before = {bundle.path: bundle.path.stat().st_mtime_ns for bundle in one}
        self.assertEqual(images.bundles([record], self.top / "out"), one)
        self.assertEqual({p: p.stat().st_mtime_ns for p in (self.top / "out" / "bundles").iterdir()}, before)

    def test_build_folders_share_what_is_packed(self):
        record, _ = self.build()
        one = images.bundles([record], self.top / "out", self.top / "kept")
        shutil.rmtree(self.top / "out" / "bundles")
        with mock.patch("images.compress", side_effect=AssertionError("packed again")):
            self.assertEqual(images.bundles([record], self.top / "out", self.top / "kept"), one)

    def test_a_build_killed_while_it_writes_leaves_no_bundle(self):
        """A later build trusts what is there by its name."""
        record, _ = self.build()
        with mock.patch("os.replace", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            images.bundles([record], self.top / "out")
        found = images.bundles([record], self.top / "out")
        self.assertEqual({p for p in (self.top / "out" / "bundles").iterdir()}, {bundle.path for bundle in found})
        for bundle in found:
            decompress(bundle.stored)

    def test_the_list_says_what_was_made(self):
        record, _ = self.build()
        said = subprocess.run([sys.executable, str(TOP / "tools/ptxc"), "--root", str(self.root), "list", "fill__*",
                               "--results", str(self.top / "out")], check=True, capture_output=True, text=True).stdout
        found = re.fullmatch(r"fill__plain  .*  used +(\d+)  instructions +(\d+)  ptx/.*\n", said)
        self.assertEqual(int(found[1]), record["regs"]["120"])
        self.assertIn(int(found[2]), range(8, 200))

    def test_one_chip(self):
        record, _ = self.build(archs={90: ("cubin", "ptx")})
        self.assertEqual([(i["kind"], i["arch"]) for i in record["images"]], [("cubin", 90), ("ptx", 90)])
        record, _ = self.build(archs={120: ("cubin", "ptx"), 90: ("ptx",)}, out="virtual")
        self.assertEqual([(i["kind"], i["arch"]) for i in record["images"]],
                         [("cubin", 120), ("ptx", 120), ("ptx", 90)])
        self.assertEqual(list(record["regs"]), ["120"])
        record, _ = self.build(header=changed(HEADER, ("//! block", "//! archs    120\n//! block")), out="narrow")
        self.assertEqual([(i["kind"], i["arch"]) for i in record["images"]], [("cubin", 120), ("ptx", 120)])

    def test_same_bytes_anywhere(self):
        """Twice, in another build folder, and from another copy of the tree: the same bytes."""
        self.build(out="one")
        self.build(out="two/deeper")
        moved = self.top / "moved" / "elsewhere"
        shutil.copytree(self.root, moved / "ptx")
        assemble(find_variant("fill__plain", moved / "ptx"), moved / "ptx", self.top / "three", PTXAS)
        found = sorted(p.name for p in (self.top / "one").iterdir() if p.suffix in (".cubin", ".ptx", ".json"))
        self.assertEqual(len(found), 5)
        for other in ("two/deeper", "three"):
            for image in found:
                one, two = self.top / "one" / image, self.top / other / image
                self.assertEqual(one.read_bytes(), two.read_bytes(), image)
        for image in found:
            self.assertNotIn(str(self.top).encode(), (self.top / "three" / image).read_bytes())

    def code_kept(self, cache):
        return sorted(p for p in cache.rglob("*") if p.is_file() and p.parent.name != "texts")

    def test_texts_are_expanded_once(self):
        """While nothing in the tree changes, for as many chips as there were; not, where a part changes."""
        cache = self.top / "cache"
        first, read = self.build(cache=cache)
        with mock.patch.object(expand, "expand_for", side_effect=AssertionError("expanded again")):
            again, reread = self.build(out="two", cache=cache)
            one, _ = self.build(out="three", cache=cache, archs={120: EVERY[120]})
        self.assertEqual((first["text"], read), (again["text"], reread))
        self.assertEqual(one["text"], {"120": first["text"]["120"]})
        base = self.root / "lib" / "base.ptxh"
        base.write_text(base.read_text() + ".global .u32 more;\n")
        self.assertNotEqual(self.build(out="four", cache=cache)[0]["text"], first["text"])

    def test_cache(self):
        """The second build folder takes what the first assembled; a comment changes nothing; a fault is no hit."""
        cache = self.top / "cache"
        self.build(out="one", cache=cache)
        kept = self.code_kept(cache)
        self.assertEqual(len(kept), 2)
        body = changed(BODY, ("SPARK_ENTRY", "// one line more\nSPARK_ENTRY"))
        self.build(out="two", cache=cache, body=body)
        self.build(out="three", body=body)
        self.assertEqual(self.code_kept(cache), kept)
        for chip in (120, 90):
            name = f"fill__plain.{chip}.cubin"
            self.assertEqual((self.top / "one" / name).read_bytes(), (self.top / "two" / name).read_bytes())
            self.assertEqual((self.top / "one" / name).read_bytes(), (self.top / "three" / name).read_bytes())
        self.assertNotEqual((self.top / "one" / "fill__plain.90.ptx").read_bytes(),
                            (self.top / "two" / "fill__plain.90.ptx").read_bytes())
        with self.assertRaises(AssembleError):
            self.build(out="four", cache=cache, header=changed(HEADER, ("regs=32", "regs=4")))

    def test_macros(self):
        header = changed(HEADER, ("kernel   fill ", "kernel   fill_{T}_{L} "), ("plain ", "plain TM=4 "),
                         ("//! block", "//! for T f32 ; L nn\n//! block"))
        body = changed(BODY, ("[to], v", "[to+T_f32*TM+L_nn+SPARK_BLOCK+SPARK_SMEM], v // T L\n"))
        self.plant("fill/fill.ptx", header + body)
        text, _ = expand.expand(find_variant("fill_f32_nn__plain", self.root), 90, self.root)
        self.assertIn("st.global.f32 [to+1*4+1+128+0], v", text.replace(" +", "+"))
        self.assertIn(".target sm_90", text)
        self.assertIn(".visible .entry fill_f32_nn__plain (.param .u64 y, .param .f32 value) .maxntid 128,1,1\n", text)

    def test_chips_share_a_text(self):
        """One that does not ask for the chip is expanded once; what expand() says of each chip is the same."""
        asking = changed(BODY, ("    st.global", "#if SPARK_SM == 90\n    neg.f32 v, v;\n#endif\n    st.global"))
        for body, times in ((BODY, 1), (asking, 2)):
            self.plant("fill/fill.ptx", HEADER + body)
            variant = find_variant("fill__plain", self.root)
            wanted = {chip: expand.expand(variant, chip, self.root)[0] for chip in (120, 90)}
            with mock.patch("expand.expand_file", side_effect=expand.expand_file) as counted:
                self.assertEqual(expand.expand_for(variant, (120, 90), self.root)[0], wanted)
            self.assertEqual(counted.call_count, times)

    def test_markers_name_the_line(self):
        self.plant("fill/fill.ptx", HEADER + BODY)
        text, _ = expand.expand(find_variant("fill__plain", self.root), 120, self.root)
        lines = text.splitlines()
        self.assertEqual(lines[:2], [".version 8.8", '# 2 "ptx/lib/base.ptxh"'])  # drivers refuse a marker first
        marker = lines.index('# 11 "ptx/fill/fill.ptx"')
        self.assertTrue(lines[marker + 1].startswith(".visible .entry"))

    def test_depfile(self):
        write_depfile(self.top / "d", "/a b/x.S", ["/a b/k.ptx", "/c#d$"])
        self.assertEqual((self.top / "d").read_text(), "/a\\ b/x.S: /a\\ b/k.ptx \\\n /c\\#d$$\n")

    def test_cpp_table(self):
        """The generated C++ compiles, links with the images, and finds their first bytes."""
        self.build()
        files = parse_tree(self.root)
        table.generate(files, self.top / "out", EVERY)
        self.write_sources(*table.source_text(files, self.top / "out", EVERY)[:2])
        beside = table.source_text(files, self.top / "out", EVERY)[2]
        head, _, content = beside.partition(b"\n")
        self.assertEqual(head.split()[-1].decode(), hashlib.sha256(content).hexdigest())
        text = (self.top / "out" / "fill__plain.90.ptx").read_bytes()
        self.assertTrue(content.endswith(compressor.compress(images.padded(text), compressor.QUICK)))
        (self.top / "main.cpp").write_text("""
#include "spark_kernels.h"
#include <cstdlib>
#include <cstring>
using namespace spark;
static_assert(kernels::fill__plain.block == 128 && kernels::limits::fill__plain[0].value == 4);
static_assert(kernels::fill__plain.num_images == 4 && sizeof(kernels::fill_params) == 16);
constexpr const Kernel* ROW[] = {&kernels::fill__plain};
int main(int, char** words) {
    auto all = kernels::all();
    if (all.size() != 1 || all[0] != ROW[0] || all[0]->index != 0) return 1;
    const auto images = kernels::images_of(*all[0]);
    for (const Image& image : {images[0], images[2]}) {
        const Bundle& bundle = kernels::bundles[image.bundle];
        if (image.arch != 120 || image.first16 != 0 || image.end1024 != (bundle.unpacked + 1023) / 1024) return 2;
        if (std::memcmp(kernels::spark_images + bundle.place, "\\x28\\xb5\\x2f\\xfd", 4) != 0) return 7; // a frame
    }
    const Bundle& testing = kernels::bundles[images[1].bundle];
    if (images[1].arch != 90 || !testing.testing) return 3;
    if (testing.place != kernels::testing_file.head.size()) return 4;
    if (kernels::testing_file.bytes != std::strtoul(words[1], nullptr, 10)) return 5;
    return kernels::testing_file.name == std::string_view("libspark-sm90.bin") ? 0 : 6;
}
""")
        subprocess.run([os.environ.get("SPARK_CXX", "c++"), "-std=c++20", "-fPIE", "-Wall", "-Wextra", "-Werror",
                        f"-I{TOP / 'src'}", f"-I{self.top / 'out'}", str(self.top / "main.cpp"),
                        str(self.top / "out" / "spark_kernels.cpp"), str(self.top / "out" / "spark_images.S"),
                        "-o", str(self.top / "main")], check=True)
        self.assertEqual(subprocess.run([str(self.top / "main"), str(len(beside))], check=False).returncode, 0)

    @unittest.skipUnless(shutil.which("clang"), "clang is not here")
    def test_embeds_on_aarch64(self):
        record, _ = self.build()
        found = images.bundles([record], self.top / "out")
        self.write_sources("", images.assembly(found))
        subprocess.run(["clang", "--target=aarch64-linux-gnu", "-c", str(self.top / "out" / "spark_images.S"), "-o",
                        str(self.top / "arm.o")], check=True)
        self.assertIn(found[0].stored, (self.top / "arm.o").read_bytes())


    def test_tensor_maps_and_clusters(self):
        """Where ptxas puts a parameter of 128 bytes is where C++ has it."""
        self.build(
            changed(HEADER, ("y:ptr value:f32", "value:f32 map:tensormap y:ptr"),
                    ("smem     0", "smem     0\n//! cluster  2")),
            changed(BODY, ("    ret;", "    prefetch.param.tensormap [map];\n    ret;")))
        text = (self.top / "out" / "fill__plain.90.ptx").read_text()
        self.assertIn("(.param .f32 value, .param .align 64 .b8 map[128], .param .u64 y)", text)
        self.assertIn(" .explicitcluster", text)


class Refused(Build):
    def test_registers(self):
        self.refuse("registers used, regs=32 declared", body=hungry(60))

    def test_spills(self):
        self.refuse("bytes spilled to memory (stores); none is allowed", body=hungry(100),
                    header=changed(HEADER, ("block    128", "block    1024"), ("regs=32", "regs=64")))

    def test_stack(self):
        self.refuse("bytes of stack frame; none is allowed", body=changed(
            BODY, ("    .reg .u32 i;\n", "    .reg .u32 i;\n    .local .align 4 .b8 own[64];\n    .reg .u64 p;\n"),
            ("    st.global.f32 [to], v;", "    mov.u64 p, own;\n    mad.wide.u32 p, i, 4, p;\n"
             "    st.local.f32 [p], v;\n    ld.local.f32 v, [own+8];\n    st.global.f32 [to], v;")))

    def test_static_shared_memory(self):
        self.refuse("512 bytes of static shared memory", body=changed(
            BODY, ("    .reg .u32 i;\n", "    .reg .u32 i;\n    .shared .align 4 .b8 own[512];\n"),
            ("    st.global.f32 [to], v;", "    st.volatile.shared.f32 [own], v;\n    st.global.f32 [to], v;")))

    def test_entry_of_another_name(self):
        self.refuse("the text must hold one entry, made by SPARK_ENTRY; found flood", body=changed(
            BODY, ("SPARK_ENTRY", ".visible .entry flood (.param .u64 y, .param .f32 value) .maxntid 128,1,1")))

    def test_second_entry(self):
        self.refuse("found fill__plain, more", body=BODY + ".visible .entry more () { ret; }\n")

    def test_params_differ(self):
        self.refuse(".param list (y) is not the header's (y value)", body=changed(
            BODY, ("SPARK_ENTRY", ".visible .entry fill__plain (.param .u64 y) .maxntid 128,1,1"),
            ("    ld.param.f32 v, [value];\n", "    mov.f32 v, 0f00000000;\n")))

    def test_param_types_differ(self):
        self.refuse("parameters lie at [(0, 8), (8, 8)], the header says [(0, 8), (8, 4)]", body=changed(
            BODY, ("SPARK_ENTRY", ".visible .entry fill__plain (.param .u64 y, .param .u64 value) .maxntid 128,1,1")))

    def test_dependent_kernel_waits_first(self):
        dependent = changed(HEADER, ("smem     0", "smem     0\n//! dependent yes"))
        wait = "    griddepcontrol.wait;\n"
        first = ("    mov.u32      i, %tid.x;\n", wait + "    mov.u32      i, %tid.x;\n")
        late = ("    mad.wide.u32 to", wait + "    mad.wide.u32 to")
        self.refuse("it is dependent, and 'mad.wide.u32 to, i, 4, to' stands before griddepcontrol.wait", dependent)
        self.refuse("it is dependent, and 'st.global.f32 [to], v' stands before griddepcontrol.wait", dependent,
                    changed(BODY, ("    mad.wide.u32 to, i, 4, to;\n", ""), ("    ret;", wait + "    ret;")))
        self.refuse("it is dependent, and '@p griddepcontrol.wait' stands before", dependent, changed(
            BODY, ("    .reg .u32 i;\n", "    .reg .pred p;\n    .reg .u32 i;\n"),
            (first[0], "    @p" + first[1][3:])))
        self.refuse("griddepcontrol.wait without 'dependent yes' in the header", body=changed(BODY, first))
        for place in (first, late):
            self.build(dependent, changed(BODY, place))

    def test_kernel_behind_its_own_reads_first(self):
        own = changed(HEADER, ("smem     0", "smem     0\n//! dependent own"))
        wait = "    griddepcontrol.wait;\n"
        body = changed(BODY, ("    .reg .u32 i;\n", "    .reg .pred p;\n    .reg .u32 i;\n"))
        store = ("    st.global", "    setp.gt.u32 p, i, 7;\n    @p bra.uni none;\n" + wait + "    st.global")
        self.refuse("it is dependent, and '@p bra.uni none' stands before", own, changed(
            body, store, ("    ret;", "none:\n    ret;")))
        self.refuse("it is dependent, and 'st.global.f32 [to], v' stands before", own, changed(
            body, ("    ret;", wait + "    ret;")))
        self.build(own, changed(body, store, ("    ret;", "    ret;\nnone:\n" + wait + "    ret;")))

    def test_block_differs(self):
        self.refuse(".maxntid 128,1,1 is missing", body=changed(
            BODY, ("SPARK_ENTRY", ".visible .entry fill__plain (.param .u64 y, .param .f32 value) .maxntid 64,1,1")))

    def test_target_differs(self):
        self.refuse(".target must be sm_120f, found none (include base.ptxh, once)",
                    body=changed(BODY, ('#include "base.ptxh"', ".version 8.8")))

    def test_something_before_the_version(self):
        self.refuse("the text must begin with .version", body=".pragma \"nounroll\";\n" + BODY)

    def test_assembler_error_names_the_line(self):
        self.refuse("ptx/fill/fill.ptx:20: error:",
                    body=changed(BODY, ("st.global.f32 [to], v", "st.global.f99 [to], v")))

    def test_missing_part(self):
        with self.assertRaises(expand.ExpandError) as caught:
            self.build(body=changed(BODY, ('"base.ptxh"', '"gone.ptxh"')))
        self.assertIn("ptx/fill/fill.ptx:10:", str(caught.exception))

    def test_unknown_name(self):
        with self.assertRaises(AssembleError) as caught:
            self.build(name="fill")
        self.assertIn("no kernel is called 'fill'; did you mean fill__plain?", str(caught.exception))

    def test_missing_assembler(self):
        done = subprocess.run(["python3", str(TOP / "tools" / "ptxc"), "assemble", "x", "--out", "/nowhere"],
                              env={**os.environ, "SPARK_PTXAS": ""}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no assembler: give --ptxas FILE or set SPARK_PTXAS", done.stderr)


if __name__ == "__main__":
    unittest.main()
