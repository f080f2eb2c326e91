"""Fetches the sources of the corpus and lays out a tree for each version of a program."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from manifest import CORPUS, ROOT

# Where `changeling` is, for steps that use it as the compiler; set by the driver.
TOOLS = pathlib.Path()
ROOM = pathlib.Path(os.environ.get("CHANGELING_SOURCES", "/tmp/changeling-sources"))
# A module that drivers of crates share.
SHARED = CORPUS / "input.rs"


class Unfetched(Exception):
    """A package client failed: most often there is no network."""


def fetch(programs):
    lines = sorted({package.line() for program in programs for package in [*program.versions.values(), *program.others]})
    ROOM.mkdir(parents=True, exist_ok=True)
    # Of its own, because several may fetch at once.
    with tempfile.NamedTemporaryFile("w", dir=ROOM, prefix=".corpus-") as wanted:
        wanted.write("\n".join(lines) + "\n")
        wanted.flush()
        done = subprocess.run([ROOT / "bench/fetch", wanted.name, ROOM], capture_output=True, text=True)
    if done.returncode == 3:
        raise Unfetched(done.stderr.strip())
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    if done.stdout.strip():
        print(done.stdout.strip())


def tree(version):
    """The place of a version's sources, with our own files in it, ready for the build command; or its executable."""
    program = version.program
    if program.is_executable:
        return prepared(version) / version.folder / program.data["program"]
    place = ROOM / "trees" / f"{program.name}-{version.name}"
    stamp = place / ".made-from"
    want = digest(version)
    if stamp.is_file() and stamp.read_text() == want:
        return place
    shutil.rmtree(place, ignore_errors=True)
    if program.is_package:
        lay_out_package(version, place)
    else:
        shutil.copytree(prepared(version) / version.folder, place, symlinks=True)
        for other in program.others:
            shutil.copytree(ROOM / other.source / other.folder, place / other.into, symlinks=True)
        for name in version.files:
            shutil.copy(program.folder / name, place / destination(name))
    stamp.write_text(want)
    return place


def destination(name):
    """`main-1.c` is put where `main.c` is for other versions."""
    stem, suffix = pathlib.Path(name).stem, pathlib.Path(name).suffix
    return stem.split("-")[0] + suffix


def lay_out_package(version, place):
    """A package of ours with the crate as a dependency by path, in the same place for all versions."""
    program = version.program
    (place / "src").mkdir(parents=True)
    shutil.copytree(ROOM / version.source / version.folder, place / "dependency", symlinks=True)
    shutil.copy(SHARED, place / "src")
    for name in version.files:
        shutil.copy(program.folder / name, place / "src" / destination(name))
    options = 'path = "dependency"'
    if version.features is not None:
        options += f", default-features = false, features = {list(version.features)!r}".replace("'", '"')
    lines = [
        "[package]",
        f'name = "{program.name}-driver"',
        'version = "0.0.0"',
        'edition = "2021"',
        "[dependencies]",
        f"{version.package} = {{ {options} }}",
        *(f"{name} = {text!r}" for name, text in program.data.get("dependencies", {}).items()),
        "[workspace]",
        'exclude = ["dependency"]',
    ]
    (place / "Cargo.toml").write_text("\n".join(lines) + "\n")
    # Cargo does the same for crates that are not dependencies by path: what an older compiler did not warn of is no error.
    (place / ".cargo").mkdir()
    (place / ".cargo/config.toml").write_text('[build]\nrustflags = ["--cap-lints", "warn"]\n')


def prepared(version):
    """The unpacked package, after the step that needs to be done once (such as `configure`)."""
    source = ROOM / version.source
    command = version.program.data.get("prepare")
    stamp = source / f".prepared-{hashlib.sha256(command.encode()).hexdigest()[:8]}" if command else None
    if command and not stamp.exists():
        place = dict(os.environ, PATH=f"{TOOLS}:{os.environ['PATH']}")
        done = subprocess.run(["sh", "-c", command], cwd=source / version.folder, capture_output=True, text=True, env=place)
        if done.returncode != 0:
            raise SystemExit(f"error: preparing {version.source} failed:\n{(done.stdout + done.stderr)[-2000:]}")
        stamp.touch()
    return source


def digest(version):
    program = version.program
    parts = [version.line(), version.folder, program.data.get("prepare", ""), str(version.features)]
    parts += [str(program.data.get("dependencies"))]
    parts += [f"{other.line()} {other.folder} {other.into}" for other in program.others]
    parts += [name + (program.folder / name).read_text() for name in version.files]
    parts += [SHARED.read_text()] if program.is_package else []
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
