"""Conditional jumps of the whole process: the program's own, those of the libraries, those of the loader. What is counted is the plain binary, one
instruction after the other, so that nothing of Changeling has a part in it; how many conditions depend on the input is what the traced run says."""

import json
import pathlib
import platform
import statistics
import subprocess
import tempfile
import tomllib

import sources
from manifest import ROOT
from stages import head, row, traced_binary
from tool import CACHE, build_options, laid_out

# Seconds for one process: a step takes some microseconds, on a busy machine some tens.
PATIENCE = 600


class Case:
    """A program that can be built, and an input."""

    def __init__(self, name, place, options, inputs, seed):
        self.name, self.place, self.options = name, place, options
        self.inputs, self.seed = inputs, seed


def process(tool, programs, options):
    """The newest version of each program, on its first seed and on its samples; programs of the fixtures on their first seed."""
    if platform.machine() != "x86_64":
        raise SystemExit("error: conditional jumps are counted on x86-64 only")
    kinds = ("jumps of the program", "of libraries", "of the loader")
    head("program", "input", *kinds, "on the input", "on its length", "untainted", "lengths counted")
    shares = []
    cases = [case for program in programs for case in cases_of(program)] + [fixture(name) for name in options.fixture]
    with tempfile.TemporaryDirectory() as room:
        counter = pathlib.Path(room, "jumps")
        subprocess.run(["clang-22", "-O2", ROOT / "bench/corpus/jumps.c", "-o", counter], check=True)
        for case in cases:
            shares += measure(tool, counter, case)
    if shares:
        most = sum(share >= 0.9 for share in shares)
        print(f"\nmedian {statistics.median(shares):.1%}; 90 % or more in {most} of {len(shares)}")
    return True


def cases_of(program):
    version = list(program.versions.values())[-1]
    place, options = sources.tree(version), build_options(program)
    yield Case(program.name, place, options, program.inputs, program.seeds[0])
    for path in program.data.get("sample", []):
        file = place / path
        yield Case(f"{program.name}, {file.name}", place, options, program.inputs, {"stdin": "hex:" + file.read_bytes().hex()})


def fixture(name):
    """A program of fixtures/faults."""
    folder = ROOT / "fixtures/faults" / name
    try:
        data = tomllib.loads((folder / "faults.toml").read_text())
    except OSError as error:
        raise SystemExit(f"error: there is no such program: {error}") from error
    bounds, seed = data["inputs"], data["seeds"][0]
    inputs = [{"sym-arg": most} for most in bounds.get("sym_args", [])]
    inputs += [{"stdin": bounds["stdin"]}] if "stdin" in bounds else []
    texts = {"args": [bytes.fromhex(text).decode() for text in seed.get("args", [])], "stdin": "hex:" + seed.get("stdin", "")}
    return Case(name, folder / data["source"], ["--cache", CACHE], inputs, texts)


def measure(tool, counter, case):
    """The share of jumps that do not depend on the input, if it could be measured."""
    built, _, problem = tool.build_at(case.place, case.options)
    document, counts = None, None
    if built:
        document, problem = tool.trace_at(case.place, case.options, case.inputs, case.seed)
    if document:
        counts = count(counter, built["plain"], case.inputs, case.seed)
        problem = f"not counted within {PATIENCE} s"
    if not counts:
        row(case.name, problem, *[""] * 7)
        return []
    branches = sites_of_branches(built)
    # What else is decided, such as the size of a copy bit by bit, is no jump.
    tests = [test for test in document["tests"] if test["kind"] in ("branch", "switch") and test["site"] in branches]
    lengths = sum(is_of_length(test["condition"]) for test in tests)
    jumps = counts["executable"] + counts["libraries"]
    share = 1 - (len(tests) - lengths) / jumps
    row(
        case.name,
        f"{document['input']['bytes']} bytes",
        *counts.values(),
        len(tests) - lengths,
        lengths,
        f"{share:.1%}",
        f"{1 - len(tests) / jumps:.1%}",
    )
    return [share]


def sites_of_branches(built):
    """In the program and in the models of its library."""
    table = json.loads((traced_binary(built).parent / "sites.json").read_text())
    return {block["branch"] for block in table["blocks"] if "branch" in block}


def is_of_length(condition):
    """A condition on where the input ends, and on none of its bytes."""
    return "length(" in condition and "[" not in condition


def count(counter, binary, inputs, seed):
    """Conditional jumps of one run, by where their code is."""
    with tempfile.TemporaryDirectory() as room:
        room = pathlib.Path(room)
        arguments, stdin = laid_out(inputs, seed, room)
        counts = room / "counts"
        with open(stdin) as file:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            command = [counter, counts, binary, *arguments]
            try:
                subprocess.run(command, stdin=file, cwd=room, timeout=PATIENCE, **quiet)
            except subprocess.TimeoutExpired:
                return None
        words = counts.read_text().split() if counts.exists() else []
        return dict(zip(words[::2], map(int, words[1::2])))
