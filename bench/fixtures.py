"""The fixtures as pairs of versions, with their inputs as options of `changeling run`."""

import concurrent.futures
import contextlib
import pathlib
import shutil
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"


def input_options(expected, room):
    """Input options and seeds, as expect.toml and faults.toml give them."""
    inputs = expected["inputs"]
    options = []
    if "stdin" in inputs:
        options += ["--stdin", str(inputs["stdin"])]
    fixed = inputs.get("args", [])
    for text in fixed:
        options += ["--arg", text]
    for bound in inputs.get("sym_args", []):
        options += ["--sym-arg", str(bound)]
    for number, seed in enumerate(expected.get("seeds", [])):
        folder = room / f"seeds/{number}"
        folder.mkdir(parents=True)
        if "stdin" in seed:
            (folder / "stdin.bin").write_bytes(bytes.fromhex(seed["stdin"]))
        for place, text in enumerate(seed.get("args", [])):
            if place >= len(fixed):
                (folder / f"arg{place + 1}.bin").write_bytes(bytes.fromhex(text))
        if any(folder.iterdir()):
            options += ["--seed", str(folder)]
    return options


def version(folder, name):
    for suffix in (".c", ".cpp"):
        if (folder / (name + suffix)).is_file():
            return folder / (name + suffix)
    return folder / name


def described(group):
    """(folder, expectation) of the pairs of a group."""
    for folder in sorted((FIXTURES / group).iterdir()):
        yield folder, tomllib.loads((folder / "expect.toml").read_text())


def faults(names):
    """(folder, fault, expectation) of the programs and faults named, or of all."""
    for folder in sorted((FIXTURES / "faults").iterdir()):
        expected = tomllib.loads((folder / "faults.toml").read_text())
        for fault in expected["fault"]:
            if not names or folder.name in names or fault["id"] in names:
                yield folder, fault, expected


@contextlib.contextmanager
def versions(folder, fault, expected):
    """The program as it is, and with the fault in it."""
    with tempfile.TemporaryDirectory() as work:
        old, new = pathlib.Path(work, "old"), pathlib.Path(work, "new")
        for copy in (old, new):
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("target", "faults.toml"))
        package = (folder / "Cargo.toml").is_file()
        source = new / ("src/main.rs" if package else expected["source"])
        text = source.read_text()
        assert text.count(fault["find"]) == 1, fault["id"]
        source.write_text(text.replace(fault["find"], fault["replace"]))
        yield (old, new) if package else (old / expected["source"], source)


def in_turn(work, items, at_once):
    """What `work` makes of each item, in their order; so many at a time."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(work, items)


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
