"""Reads `corpus/NAME/program.toml`. docs/corpus.md says what the keys mean."""

import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "corpus"
REGISTRIES = ("cargo", "pip", "apt", "npm")
LANGUAGES = ("C", "C++", "Rust")
KEYS = {
    "program": {"what", "language", "registry", "package", "build", "program", "files", "prepare", "dependencies", "executable"}
    | {"input", "seed", "load", "version", "pair", "fast", "normalise", "with", "sample"},
    "with": {"name", "into", "release", "sha256", "folder", "package", "registry"},
    "version": {"name", "release", "sha256", "folder", "files", "features", "package", "registry"},
    "pair": {"base", "head", "change", "input", "seed", "shows", "fast", "note", "own"},
    "shows": {"input", "base", "head"},
    "seed": {"stdin", "args", "files"},
    "load": {"stdin", "args", "files", "times", "before", "after", "rest"},
    "input": {"stdin", "arg", "sym-arg", "file", "size"},
}


class Mistake(Exception):
    """A manifest that says something else than it should."""


class Program:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        text = (folder / "program.toml").read_text()
        try:
            self.data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise Mistake(f"{folder}/program.toml: {error}") from error
        check_keys(self, "program", self.data)
        self.language = self.data["language"]
        if self.language not in LANGUAGES:
            raise Mistake(f"{folder}/program.toml: language {self.language} is none of {', '.join(LANGUAGES)}")
        self.others = [Other(self, data) for data in self.data.get("with", [])]
        self.versions = {data["name"]: Version(self, data) for data in self.data["version"]}
        self.inputs = self.data["input"]
        self.seeds = self.data.get("seed", [])
        self.pairs = [Pair(self, data) for data in self.data.get("pair", [])]
        for kind in ("input", "seed"):
            for data in self.data.get(kind, []):
                check_keys(self, kind, data)
        check_keys(self, "load", self.data.get("load", {}))
        for place in [self, *self.pairs]:
            for seed in place.seeds:
                check_fits(self, place.inputs, seed)

    @property
    def is_package(self):
        """Rust: a package of ours around the crate, built by cargo."""
        return self.language == "Rust"

    @property
    def is_executable(self):
        """Made by the preparing step with `changeling cc`: several programs of one package are built once."""
        return self.data.get("executable", False)


class Package:
    """What a package client fetches."""

    def __init__(self, program, data):
        self.name = data["name"]
        self.release = data.get("release", self.name)
        self.package = data.get("package", program.data.get("package"))
        self.registry = data.get("registry", program.data.get("registry"))
        if self.registry not in REGISTRIES:
            raise Mistake(f"{program.folder}/program.toml: registry {self.registry} is none of {', '.join(REGISTRIES)}")
        self.sha256 = data["sha256"]
        # Where in the unpacked package the sources are.
        self.folder = data.get("folder", ".")
        # Programs of one package share the unpacked sources.
        self.source = f"{self.package}-{self.name}"

    def line(self):
        """For bench/fetch."""
        return f"{self.registry} {self.package} {self.release} {self.sha256} {self.source}"


class Version(Package):
    def __init__(self, program, data):
        check_keys(program, "version", data)
        super().__init__(program, data)
        self.program = program
        self.files = data.get("files", program.data.get("files", []))
        self.features = data.get("features")


class Other(Package):
    """Sources that all versions are built with, such as those of a library that they need."""

    def __init__(self, program, data):
        check_keys(program, "with", data)
        super().__init__(program, data)
        # A folder of the version's own tree.
        self.into = data["into"]


class Pair:
    def __init__(self, program, data):
        check_keys(program, "pair", data)
        shows = data.get("shows", [])
        shows = shows if isinstance(shows, list) else [shows]
        for signs in shows:
            check_keys(program, "shows", signs)
        self.program = program
        self.base = program.versions[data["base"]]
        self.head = program.versions[data["head"]]
        self.change = data.get("change")
        self.shows = [{side: re.compile(text, re.S) for side, text in signs.items()} for signs in shows]
        self.inputs = data.get("input", program.inputs)
        self.seeds = data.get("seed", program.seeds)
        self.fast = data.get("fast", False)
        self.note = data.get("note", "")
        if self.change and not self.shows:
            raise Mistake(f"{program.folder}/program.toml: the change of {self.base.name} → {self.head.name} has no `shows`")

    @property
    def name(self):
        return f"{self.program.name} {self.base.name} → {self.head.name}"

    def is_documented(self, difference):
        """Whether a difference (of results.json) is the documented one."""
        texts = {
            "base": outcome(difference["base"]),
            "head": outcome(difference["head"]),
            "input": "\n".join(stream.get("text", "") for stream in difference["input"]["streams"]),
        }
        return any(all(pattern.search(texts[side]) for side, pattern in signs.items()) for signs in self.shows)


def outcome(side):
    end = next((f"{key} {side[key]}" for key in ("exit", "signal") if key in side), "timed out")
    return f"{end}\n{side['stdout']}{side['stderr']}"


def check_keys(program, kind, data):
    unknown = set(data) - KEYS[kind]
    if unknown:
        raise Mistake(f"{program.folder}/program.toml: unknown key `{min(unknown)}` in {kind}")


def raw(text):
    """The bytes of a seed: text, or hexadecimal behind `hex:`."""
    return bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode()


def check_fits(program, inputs, seed):
    """A seed that is longer than what the search ranges over would be cut."""
    args = list(seed.get("args", []))
    for data in inputs:
        if "stdin" in data:
            text, most = seed.get("stdin", ""), data["stdin"]
        elif "file" in data:
            text, most = seed.get("files", {}).get(data["file"], ""), data["size"]
        elif "sym-arg" in data:
            text, most = args.pop(0) if args else "", data["sym-arg"]
        else:
            continue
        if len(raw(text)) > most:
            raise Mistake(f"{program.folder}/program.toml: the seed {text!r} has more than {most} bytes")


def read_all(names):
    folders = sorted(path.parent for path in CORPUS.glob("*/program.toml"))
    unknown = set(names) - {folder.name for folder in folders}
    if unknown:
        raise Mistake(f"there is no corpus/{min(unknown)}")
    return [Program(folder) for folder in folders if not names or folder.name in names]
