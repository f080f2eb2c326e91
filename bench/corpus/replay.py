"""Inputs that a search has run, run again on the plain binaries of both versions.

A search reports one difference of each group: those of one kind whose paths part at one place. Where paths part in a function that
everything uses, such as a comparison of texts, the documented difference may be in the group of another."""

import json
import os
import pathlib
import subprocess
import tempfile

LONGEST = 5


def documented(pair, binaries, searched):
    """Number and difference of the first input that shows the documented change, as in `results.json`; None if none does."""
    for number, streams in enumerate(inputs(searched), 1):
        sides = [observed(binary, pair.inputs, streams) for binary in binaries]
        if None in sides or sides[0] == sides[1]:
            continue
        labels = [{"label": stream["kind"], "text": data.decode(errors="replace")} for stream, data in streams]
        difference = {"base": sides[0], "head": sides[1], "input": {"streams": labels}}
        if pair.is_documented(difference):
            return number, difference
    return None


def inputs(searched):
    """Each input of a `search.jsonl`: its streams with their bytes."""
    shape = []
    for line in searched.splitlines():
        event = json.loads(line)
        if "search" in event:
            shape = event["search"]["shape"]["streams"]
        elif "input" in event:
            yield list(zip(shape, map(bytes.fromhex, event["input"])))


def observed(binary, wanted, streams):
    """How the program ends and what it prints. None if it does not end."""
    rest = list(streams)
    stdin, arguments = b"", []
    with tempfile.TemporaryDirectory() as room:
        for data in wanted:
            if "arg" in data:
                arguments.append(data["arg"].encode())
                continue
            _, content = rest.pop(0)
            if "sym-arg" in data:
                arguments.append(content.split(b"\0")[0])
            elif "stdin" in data:
                stdin = content
            else:
                pathlib.Path(room, data["file"]).write_bytes(content)
        place = {"PATH": os.environ["PATH"], "HOME": room, "LC_ALL": "C", "TZ": "UTC"}
        try:
            done = subprocess.run([binary, *arguments], input=stdin, capture_output=True, cwd=room, env=place, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return None
    end = {"exit": done.returncode} if done.returncode >= 0 else {"signal": -done.returncode}
    return end | {"stdout": done.stdout.decode(errors="replace"), "stderr": done.stderr.decode(errors="replace")}
