"""Records the queries of searches over pairs of programs."""

import pathlib
import shutil
import subprocess
import tomllib
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclass
class Program:
    name: str
    about: str
    folder: pathlib.Path
    source: str
    #: Text of the base version and what the head version has instead.
    change: tuple
    inputs: list
    seeds: list


def of_faults(name, about):
    """A program of the fault corpus with its first fault."""
    folder = ROOT / "fixtures/faults" / name
    faults = tomllib.loads((folder / "faults.toml").read_text())
    fault = faults["fault"][0]
    source = "src/main.rs" if faults["language"] == "rust" else faults["source"]
    seeds = [bytes.fromhex(seed["stdin"]) for seed in faults["seeds"]]
    inputs = ["--stdin", str(faults["inputs"]["stdin"])]
    return Program(name, about, folder, source, (fault["find"], fault["replace"]), inputs, seeds)


def programs():
    checksum = Program(
        "checksum",
        "records with checksums, C",
        pathlib.Path(__file__).parent / "programs",
        "checksum.c",
        ("total > 2", "total > 1"),
        ["--stdin", "24"],
        [b"c\x03abc5$A\xc2", b"a\x02hi\x01;\x00\xd2", b"f\x04+-+-\0\0"],
    )
    sort = Program(
        "sort",
        "quicksort of 32-bit numbers, C",
        ROOT / "fixtures/overhead/quicksort",
        "main.c",
        ("FEW = 12", "FEW = 3"),
        ["--stdin", "64", "--arg", "1"],
        [bytes(range(200, 136, -1))],
    )
    return [
        of_faults("calc", "calculator, C"),
        checksum,
        of_faults("dates", "conversion of dates, Rust"),
        of_faults("glob", "matcher of patterns, C"),
        of_faults("press", "press controller, C"),
        sort,
        of_faults("stats", "statistics of decimal numbers, C"),
    ]


def record(program, changeling, work, seconds):
    """Searches for `seconds` and returns the directory of recorded queries."""
    room, queries = work / "programs" / program.name, work / "queries" / program.name
    for folder in (room, queries):
        shutil.rmtree(folder, ignore_errors=True)
    versions = [room / "old", room / "new"]
    for version in versions:
        shutil.copytree(program.folder, version, ignore=shutil.ignore_patterns("target"))
    source = versions[1] / program.source
    text = source.read_text()
    before, after = program.change
    assert text.count(before) == 1, f"{program.name}: `{before}` should be there once"
    source.write_text(text.replace(before, after))
    package = (program.folder / "Cargo.toml").is_file()
    old, new = versions if package else [version / program.source for version in versions]
    command = [changeling, "run", old, new, "--quiet", "--jobs", "1", "--time", f"{seconds}s"]
    command += ["--cache", work / "cache", "--out", room / "out", "--record-queries", queries, *program.inputs]
    for number, seed in enumerate(program.seeds):
        file = room / f"seed{number}"
        file.write_bytes(seed)
        command += ["--seed", file]
    done = subprocess.run([str(word) for word in command], cwd=room, capture_output=True, text=True)
    # Differences may be found or not; anything else went wrong.
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"error: recording {program.name} ended with {done.returncode}\n{done.stderr}{done.stdout}")
    return queries
