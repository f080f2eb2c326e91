"""Conditional jumps of the whole process: the program's own, those of the libraries, those of the loader. What is counted is the plain binary, so that
nothing of Changeling has a part in it; how many conditions depend on the input is what the traced run says.

Two count: callgrind, which is fast, from the program's first instruction on; and `jumps.c`, which goes by single steps, for what comes before (the same
whatever the input is, so once for each program), and with --steps for everything."""

import concurrent.futures
import itertools
import json
import pathlib
import platform
import shutil
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
# Names in full in what it writes.
PLAIN = ["--compress-strings=no", "--compress-pos=no"]
# From the first instruction of the program to its last: nothing is freed behind it for the sake of a checker.
CALLGRIND = ["--tool=callgrind", "--branch-sim=yes", "--show-below-main=yes", "--toggle-collect=_start", "--run-libc-freeres=no", "--run-cxx-freeres=no"]


class Case:
    """A program that can be built, and an input."""

    def __init__(self, name, place, options, inputs, seed, suite=None):
        self.name, self.place, self.options = name, place, options
        self.inputs, self.seed = inputs, seed
        # What it is one of many of.
        self.suite = suite


class Count:
    """Conditional jumps of one run, and those of them that depend on the input."""

    def __init__(self, jumps, tainted):
        self.tainted = tainted
        self.loaded = jumps["executable"] + jumps["libraries"]
        self.whole = sum(jumps.values())

    def shares(self):
        return [1 - self.tainted / self.loaded, 1 - self.tainted / self.whole]


def process(tool, programs, options):
    """The newest version of each program, on its first seed and on its samples; programs of the fixtures on their first seed."""
    if platform.machine() != "x86_64":
        raise SystemExit("error: conditional jumps are counted on x86-64 only")
    kinds = ("jumps of the program", "of libraries", "of the loader", "while loading")
    head("program", "input", *kinds, "on the input", "on its length", "untainted", "with loader and loading")
    counts, suites = [], {}
    cases = [case for program in programs for case in cases_of(program)] + [fixture(name) for name in options.fixture]
    with tempfile.TemporaryDirectory() as room:
        counter = Counter(pathlib.Path(room), options.steps)
        for case, cells, counted in measured(tool, counter, cases, options.jobs):
            row(*cells)
            if counted and case.suite:
                suites.setdefault(case.suite, []).append(counted)
            elif counted:
                counts.append(counted)
    print()
    if counts:
        summary("first seeds", counts)
    for name, of_suite in suites.items():
        summary(name, of_suite)
    return True


def measured(tool, counter, cases, jobs):
    """Counts do not depend on what else runs, so there are several at a time; the first of each program makes the builds that the others find."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for _, group in itertools.groupby(cases, lambda case: case.place):
            first, *others = group
            yield first, *measure(tool, counter, first)
            answers = pool.map(lambda case: measure(tool, counter, case), others)
            yield from ((case, *answer) for case, answer in zip(others, answers))


def summary(name, counts):
    """All jumps together, and the input in the middle; without what the loader does, and with it."""
    for number, what in enumerate(["untainted", "with loader and loading"]):
        jumps = sum(count.whole if number else count.loaded for count in counts)
        clean = jumps - sum(count.tainted for count in counts)
        shares = [count.shares()[number] for count in counts]
        most = sum(share >= 0.9 for share in shares)
        print(
            f"{name}, {what}: {clean} of {jumps} jumps ({clean / jumps:.1%}); median {statistics.median(shares):.1%}, "
            f"{min(shares):.1%} to {max(shares):.1%}; 90 % or more in {most} of {len(shares)}"
        )


def cases_of(program):
    version = list(program.versions.values())[-1]
    place, options = sources.tree(version), build_options(program)
    yield Case(program.name, place, options, program.inputs, program.seeds[0])
    for pattern in program.data.get("sample", []):
        files = sorted(place.glob(pattern))
        if not files:
            raise SystemExit(f"error: corpus/{program.name}/program.toml: no file of {version.name} is a sample by `{pattern}`")
        for file in files:
            seed = {"stdin": "hex:" + file.read_bytes().hex()}
            yield Case(f"{program.name}, {file.name}", place, options, program.inputs, seed, f"{program.name}, {pattern}")


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
    """The cells of a row, and what was counted if it could be."""
    built, _, problem = tool.build_at(case.place, case.options)
    document, jumps = None, None
    if built:
        document, problem = tool.trace_at(case.place, case.options, case.inputs, case.seed)
    if document:
        jumps, problem = counter.count(built["plain"], case.inputs, case.seed)
    if not jumps:
        return [case.name, problem, *[""] * 8], None
    branches = sites_of_branches(built)
    # What else is decided, such as the size of a copy bit by bit, is no jump.
    tests = [test for test in document["tests"] if test["kind"] in ("branch", "switch") and test["site"] in branches]
    lengths = sum(is_of_length(test["condition"]) for test in tests)
    counted = Count(jumps, len(tests) - lengths)
    shares = [f"{share:.1%}" for share in counted.shares()]
    cells = [case.name, f"{document['input']['bytes']} bytes", *jumps.values(), counted.tainted, lengths, *shares]
    return cells, counted


def sites_of_branches(built):
    """In the program and in the models of its library."""
    table = json.loads((traced_binary(built).parent / "sites.json").read_text())
    return {block["branch"] for block in table["blocks"] if "branch" in block}


def is_of_length(condition):
    """A condition on where the input ends, and on none of its bytes."""
    return "length(" in condition and "[" not in condition


class Counter:
    """Counts the conditional jumps of a run, by where their code is."""

    def __init__(self, room, by_steps):
        if not by_steps and not shutil.which("valgrind"):
            raise SystemExit("error: valgrind is not installed, whose callgrind counts jumps (Debian: apt install valgrind); --steps counts without it, slowly")
        self.by_steps, self.room = by_steps, room
        self.stepper = room / "jumps"
        # Jumps before the first instruction of a program, by its binary.
        self.loading = {}
        subprocess.run(["clang-22", "-O2", ROOT / "bench/corpus/jumps.c", "-o", self.stepper], check=True)

    def count(self, binary, inputs, seed):
        """Counts, and what went wrong if there are none."""
        if self.by_steps:
            return self.stepped([self.stepper], binary, inputs, seed)
        if binary not in self.loading:
            jumps, problem = self.stepped([self.stepper, "--loading"], binary, inputs, seed)
            if not jumps:
                return None, problem
            self.loading[binary] = jumps["loading"]
        jumps, problem = self.simulated(binary, inputs, seed)
        return jumps and {**jumps, "loading": self.loading[binary]}, problem

    def stepped(self, command, binary, inputs, seed):
        with tempfile.TemporaryDirectory() as room:
            counts = pathlib.Path(room, "counts")
            problem = ran([*command, counts, binary], inputs, seed, room)
            words = counts.read_text().split() if counts.exists() else []
            return dict(zip(words[::2], map(int, words[1::2]))), problem

    def simulated(self, binary, inputs, seed):
        # Its reader of debug information may be older than the compiler. The code stays as it is.
        bare = self.room / pathlib.Path(binary).parent.name
        if not bare.exists():
            subprocess.run(["strip", "--strip-debug", binary, "-o", bare], check=True)
        with tempfile.TemporaryDirectory() as room:
            file = pathlib.Path(room, "callgrind.out")
            problem = ran(["valgrind", *CALLGRIND, *PLAIN, f"--callgrind-out-file={file}", bare], inputs, seed, room)
            jumps = dict.fromkeys(["executable", "libraries", "loader"], 0)
            for name, number in by_object(file.read_text() if file.exists() else ""):
                # Valgrind's own part of the process is none of the program's.
                if "/vgpreload" not in name:
                    kind = "executable" if name == str(bare) else "loader" if "/ld-linux" in name else "libraries"
                    jumps[kind] += number
            if not jumps["executable"]:
                return None, problem or "callgrind has counted nothing"
            return jumps, problem


def by_object(profile):
    """Name and conditional jumps of each stretch of code in a profile: costs are those of the object named last; a line behind `calls=` has costs of others."""
    column, name, is_inclusive = None, "", False
    for line in profile.splitlines():
        if line.startswith("events:"):
            column = line.split().index("Bc")
        elif line.startswith("ob="):
            name = line[3:]
        elif line[:1].isdigit() and not is_inclusive:
            # Zeros at the end are left out.
            numbers = line.split()
            yield name, int(numbers[column]) if len(numbers) > column else 0
        is_inclusive = line.startswith("calls=")


def ran(command, inputs, seed, room):
    """Runs a command on an input. What went wrong, if it took too long."""
    room = pathlib.Path(room)
    arguments, stdin = laid_out(inputs, seed, room)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with open(stdin) as file:
        try:
            subprocess.run([*command, *arguments], stdin=file, cwd=room, timeout=PATIENCE, **quiet)
        except subprocess.TimeoutExpired:
            return f"not counted within {PATIENCE} s"
    return ""
