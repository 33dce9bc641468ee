# SPDX-License-Identifier: Apache-2.0
#
# The commands of tools/spark: parses the line, builds what the command needs, and runs it.
# Called by tools/spark (which has installed what is missing) and, for `ptxas` and `pinned`, by CMake.
import argparse
import sys
from pathlib import Path

import build
import checked
import decode
import demo as demonstration
import docs
import generation
import goals
import peers
import ptxas
import record
import steps
import testplan
import wheels

PTXC = [sys.executable, build.ROOT / "tools" / "ptxc"]


def demo(args, rest):
    return demonstration.carry_out(rest)


def test(args, rest):
    return testplan.carry_out(args.tier, args.only, not args.no_sanitizers)


def compile(args, rest):
    step = steps.Step(f"build {args.preset}")
    reporter = steps.Reporter()
    build.compile(reporter, step, args.preset, rest)
    reporter.end(step)
    if step.state != "ok":
        print(steps.complaint(step.log))
    return 0 if step.state == "ok" else 1


def built_program(name, arguments):
    """Builds one program and both libraries, then runs it with the user's arguments."""
    if not build.release(steps.Reporter(), (name, "spark", "spark-emu")):
        return 1
    return build.call([build.program(name), *arguments])


def check(args, rest):
    return built_program("spark-check", rest) if not args.record else recorded(checked.adopt, args.record)


def recorded(adopt, measured):
    try:
        adopt(measured)
    except record.Refused as refusal:
        print(f"Not recorded: {refusal}.", file=sys.stderr)
        return 1
    return 0


def bench(args, rest):
    if args.goals:
        goals.PAGE.write_text(goals.page(record.load()))
        return 0
    if args.record_generation:
        return recorded(generation.adopt, [args.record_generation, *rest])
    if args.record_peers:
        return recorded(peers.adopt, args.record_peers)
    if args.record_decode:
        return recorded(decode.adopt, [args.record_decode, *rest])
    if args.record is None:
        return built_program("spark-bench", rest)
    measured = args.record or build.folder("release") / "bench.json"
    code = 0 if args.record else built_program("spark-bench", ["--rivals", "--json", measured, *rest])
    if code not in (0, record.BEATEN):
        return code
    return recorded(record.adopt, measured) or code


def explain(args, rest):
    shape = [] if not args.shape else ["--shape", ",".join(args.shape)]
    return built_program("spark-check", ["--explain", "--op", args.op, *shape, *rest])


def witness(args, rest):
    if not build.release(steps.Reporter(), ("ptx-run", "spark-emu")):
        return 1
    runner = build.ROOT / "tests" / "emu" / "run.py"
    return build.call([sys.executable, runner, "--witness", "--ptx-run", build.program("ptx-run"), *rest])


def lint(args, rest):
    return build.call([sys.executable, build.ROOT / "tools" / "lint", *rest])


def kernels(args, rest):
    return build.call([*PTXC, "--as", "tools/spark", args.command, *rest])


def documentation(args, rest):
    return docs.carry_out(args.serve, Path(args.into).resolve())


def clean(args, rest):
    return build.clean()


def fetch(args, rest):
    """Prints where it is; what is said of a fetch goes to stderr."""
    say = lambda text: print(text, file=sys.stderr)
    try:
        print(ptxas.locate(args.into, say) if args.command == "ptxas" else wheels.fetch(args.name, args.into, say))
    except wheels.FetchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def parser():
    top = argparse.ArgumentParser(prog="tools/spark", description="Everything that is done with this tree.")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, run, text, passes_on="", all_of_it=False):
        note = f" Further options go to {passes_on}." if passes_on else ""
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + "." + note,
                                   add_help=not all_of_it)  # --help is then the other program's
        made.add_argument("--yes", "-y", action="store_true", help="install what is missing without asking")
        made.set_defaults(run=run, open_ended=bool(passes_on))
        return made

    command("demo", demo, "build, fetch a language model and let it answer; with no GPU it runs on the emulator",
            "the program: --prompt TEXT, --max-tokens N, --temperature T, --top-k K, --top-p P, --seed N, and what "
            "examples/generate/options.c lists")
    made = command("test", test, "build everything and run the tests, the sanitizers and the lint")
    made.add_argument("--tier", choices=testplan.TIERS, default="all",
                      help="all: every change; core: all but the bindings; bindings: these alone; "
                           "long: before a release")
    made.add_argument("--only", metavar="PATTERN",
                      help="only the tests whose name matches this regular expression; no lint")
    made.add_argument("--no-sanitizers", action="store_true", help="the release build only")
    made = command("build", compile, "build one preset", "the build: names of targets")
    made.add_argument("--preset", choices=build.PRESETS, default="release")
    made = command("check", check, "run spark-check: kernels against their oracles", "spark-check")
    made.add_argument("--record", metavar="FILE",
                      help="instead: put what tests/card/run.py found on a card into docs/checked.json and its page")
    made = command("bench", bench, "run the benchmarks; they need a GPU", "spark-bench")
    made.add_argument("--record", nargs="?", const="", metavar="FILE",
                      help="put the result, rivals and all, into docs/performance.json and its page; FILE: one that "
                           "spark-bench --json has written, for this commit, on another machine")
    made.add_argument("--goals", action="store_true", help="only write docs/goals.md anew, of bench/goals.toml")
    made.add_argument("--record-generation", metavar="FILE",
                      help="put what spark-generate --json and bench/peers/transformers_generate.py wrote on a card, "
                           "for this commit, into the same record; more files may follow")
    made.add_argument("--record-peers", metavar="FILE",
                      help="put what bench/peers/torch_peers.py wrote on a card, for this commit, into the same record")
    made.add_argument("--record-decode", metavar="FILE",
                      help="put what spark-bench --shapes bench/decode.txt --json FILE measured on a card, for this "
                           "commit, into the same record, as tables and a picture; more files may follow, of other "
                           "caches, where memory does not hold both")
    command("lint", lint, "check formatting, sizes, names, links and generated files", "tools/lint")
    command("list", kernels, "list the kernels", "tools/ptxc", all_of_it=True)
    command("new", kernels, "start a kernel file", "tools/ptxc", all_of_it=True)
    command("expand", kernels, "print a kernel's PTX as ptxas sees it", "tools/ptxc", all_of_it=True)
    made = command("explain", explain, "print each dispatch row of an operator for a shape, and why or why not",
                   "spark-check")
    made.add_argument("op", help="the operator, as gemm")
    made.add_argument("shape", nargs="*", help="its sizes, as 7 4095 4096")
    command("witness", witness, "run the instruction tests on a GPU and record what it answered", "tests/emu/run.py")
    made = command("docs", documentation, "build the documentation site into build/site")
    made.add_argument("--serve", action="store_true", help="instead: show it at an address, as it is written")
    made.add_argument("--into", default=build.BUILD / "site", help="another folder")
    command("clean", clean, "remove build/")
    fetched = [command("ptxas", fetch, "print the path of the ptxas in use; fetches the pinned one if need be"),
               command("pinned", fetch, "print the path of what a pin brings; fetches it if need be")]
    fetched[1].add_argument("name", help="a name of tools/sparklib/pins.toml")
    for each in fetched:
        each.add_argument("--into", default=build.PINNED, help="the folder for it (default: build/pinned)")
    return top


def main(arguments):
    args, rest = parser().parse_known_args(arguments)
    if rest and not args.open_ended:
        parser().error(f"{args.command} does not know {' '.join(rest)}")
    return args.run(args, rest)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
