"""Calls of `changeling` on programs of the corpus."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from manifest import raw
from sources import ROOM, tree

CACHE = ROOM / "cache"


def build_options(program):
    if program.is_package or program.is_executable:
        return ["--cache", CACHE]
    options = ["--build", program.data["build"], "--cache", CACHE]
    if "program" in program.data:
        options += ["--program", program.data["program"]]
    return options


def symbolic_arguments(inputs):
    """Numbers of the symbolic arguments, as the files of a seed folder are named."""
    arguments = [data for data in inputs if "arg" in data or "sym-arg" in data]
    return [number for number, data in enumerate(arguments, 1) if "sym-arg" in data]


def seed_options(inputs, seed, room):
    """Options of `trace` for one input, a seed or a load."""
    options, args = [], list(seed.get("args", []))
    for number, data in enumerate(inputs):
        if "arg" in data:
            options += ["--arg", data["arg"]]
        elif "sym-arg" in data:
            options += ["--sym-arg", "=" + (args.pop(0) if args else "")]
        else:
            file = room / f"stream{number}"
            text = seed.get("stdin", "") if "stdin" in data else seed.get("files", {}).get(data["file"], "")
            whole = raw(seed.get("before", "")) + raw(text) * seed.get("times", 1) + raw(seed.get("after", ""))
            file.write_bytes(whole)
            options += ["--stdin", file] if "stdin" in data else ["--file", f"{data['file']}={file}"]
    for text in seed.get("rest", []) * seed.get("times", 1):
        options += ["--sym-arg", "=" + text]
    return options


def laid_out(inputs, seed, room):
    """Arguments and file of standard input of a run without Changeling, in `room`, where its files are laid out."""
    options = seed_options(inputs, seed, room)
    values = list(zip(options[::2], options[1::2]))
    stdin = next((value for name, value in values if name == "--stdin"), os.devnull)
    arguments = [value.removeprefix("=") if name == "--sym-arg" else value for name, value in values if "arg" in name]
    for name, value in values:
        if name == "--file":
            file, content = value.split("=", 1)
            (room / file).write_bytes(pathlib.Path(content).read_bytes())
    return arguments, stdin


def search_options(inputs, seeds, room):
    """Options of `run`: bounds, and a folder for each seed."""
    options = []
    for data in inputs:
        if "arg" in data:
            options += ["--arg", data["arg"]]
        elif "sym-arg" in data:
            options += ["--sym-arg", str(data["sym-arg"])]
        elif "stdin" in data:
            options += ["--stdin", str(data["stdin"])]
        else:
            options += ["--file", f"{data['file']}={data['size']}"]
    places = symbolic_arguments(inputs)
    for number, seed in enumerate(seeds):
        folder = room / f"seeds/{number}"
        folder.mkdir(parents=True)
        if "stdin" in seed:
            (folder / "stdin.bin").write_bytes(raw(seed["stdin"]))
        for place, text in zip(places, seed.get("args", [])):
            (folder / f"arg{place}.bin").write_bytes(raw(text))
        for name, text in seed.get("files", {}).items():
            (folder / f"file-{name}.bin").write_bytes(raw(text))
        options += ["--seed", folder]
    return options


class Tool:
    def __init__(self, path, jobs):
        self.path = path
        self.jobs = jobs

    def build(self, version):
        """What `__build` says, how long it took, and the error if it failed."""
        return self.build_at(tree(version), build_options(version.program))

    def build_at(self, place, options):
        start = time.monotonic()
        command = [self.path, "__build", place, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.monotonic() - start
        if done.returncode != 0:
            return None, seconds, last_error(done)
        return json.loads(done.stdout), seconds, ""

    def trace(self, version, inputs, seed, extra=("--check", "--flips", "20")):
        return self.trace_at(tree(version), build_options(version.program), inputs, seed, extra)

    def trace_at(self, place, options, inputs, seed, extra=(), run_time=20):
        with tempfile.TemporaryDirectory() as room:
            command = [self.path, "trace", place, "--json", "--run-time", str(run_time), *extra, *options]
            command += seed_options(inputs, seed, pathlib.Path(room))
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 71) or not done.stdout.startswith("{"):
            return None, last_error(done)
        return json.loads(done.stdout), ""

    def search(self, pair, base, head, seconds, enough=lambda difference: True, extra=()):
        """A search that ends with the first difference that is `enough`. Results, and the difference."""
        with tempfile.TemporaryDirectory() as room:
            room = pathlib.Path(room)
            command = [self.path, "run", tree(base), tree(head), "--json-lines", "--out", room / "out"]
            command += ["--time", f"{seconds}s", "--jobs", str(self.jobs), *extra]
            for pattern in pair.program.data.get("normalise", []):
                command += ["--normalise", pattern]
            command += build_options(pair.program) + search_options(pair.inputs, pair.seeds, room)
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=room)
            os.set_blocking(child.stderr.fileno(), True)
            found, first = None, None
            for line in child.stdout:
                event = json.loads(line)
                if event.get("event") == "difference":
                    first = first or event["difference"]
                    if found is None and enough(event["difference"]):
                        found = event["difference"]
                        child.send_signal(signal.SIGINT)
            errors = child.stderr.read()
            child.wait()
            try:
                results = json.loads((room / "out/results.json").read_text())
            except (OSError, ValueError):
                results = {"verdict": "error", "stats": {}}
            results["code"] = child.returncode
            searched = room / "out/search.jsonl"
            results["searched"] = searched.read_text() if searched.is_file() else ""
            if child.returncode not in (0, 1, 3):
                results["error"] = shortened(errors)
            return results, found or first, found is not None


def last_error(done):
    return f"exit {done.returncode}: {shortened(done.stderr)}"


def shortened(text):
    lines = [line for line in text.strip().splitlines() if line.startswith("error:")] or text.strip().splitlines()[-1:]
    return lines[-1][:200] if lines else ""
