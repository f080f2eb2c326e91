"""The stages of the corpus, one table each. A stage is good if nothing happened that never may."""

import os
import statistics
import subprocess
import tempfile
import pathlib

import replay
from manifest import Pair
from tool import CACHE, laid_out

LONGEST_TEXT = 90
# Enough for the count, which is taken in one of sixteen runs.
BRANCH_RUNS = 100


def row(*cells):
    print("| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |", flush=True)


def head(*cells):
    row(*cells)
    row(*["---"] * len(cells))


def build(tool, programs, options):
    head("program", "language", "version", "builds", "seconds", "not traced", "note")
    good = total = 0
    for program in programs:
        for version in program.versions.values():
            built, seconds, error = tool.build(version)
            total += 1
            good += built is not None
            missing = ", ".join(part["object"] for part in (built or {}).get("missing", []))
            row(program.name, program.language, version.name, "yes" if built else "**NO**", f"{seconds:.1f}", missing, error)
    print(f"\n{good} of {total} versions build both ways")
    return good == total


def trace(tool, programs, options):
    """Of each program the newest version, on its seeds."""
    head("program", "seeds", "transparent", "flips followed", "strayed", "to a branch", "to the end", "lost by")
    good = total = 0
    for program in programs:
        version = list(program.versions.values())[-1]
        sums = {"bytes": 0, "followed": 0, "kept": 0}
        flips, followed, strayed, problems, losses = 0, 0, 0, [], {}
        for seed in program.seeds:
            document, error = tool.trace(version, program.inputs, seed)
            if document is None:
                problems.append(error)
                continue
            check = document["check"]
            problems += check["transparency"] + check["untrue"]
            flips += check["flips"] - check["unsatisfiable"] - check["unknown"]
            followed += check["followed"]
            strayed += len(check["strayed"])
            for key in sums:
                sums[key] += document["input"][key]
            for loss in document["losses"]:
                name = (loss["call"] or loss["reason"]) + f" at {loss['place']}"
                losses[name] = losses.get(name, 0) + len(loss["input"])
        total += 1
        good += not problems
        worst = sorted(losses.items(), key=lambda item: -item[1])
        text = "; ".join(f"{name}: {count}" for name, count in worst[:3])
        row(
            program.name,
            len(program.seeds),
            "yes" if not problems else "**NO** " + problems[0][:LONGEST_TEXT],
            f"{followed} of {flips}",
            strayed or "",
            share(sums["followed"], sums["bytes"]),
            share(sums["kept"], sums["bytes"]),
            text + (f"; {len(worst) - 3} more" if len(worst) > 3 else ""),
        )
    print(f"\n{good} of {total} programs are transparent on all seeds")
    return good == total


def branches(tool, programs, options):
    """How many of the branches that runs came by did not depend on the input, in a short search of the last pair."""
    head("program", "language", "pair", "input", "runs", "branches in a run", "on the input", "untainted")
    rows = []
    for program in (program for program in programs if program.pairs):
        pair = program.pairs[-1]
        extra = ["--runs", str(BRANCH_RUNS)]
        results, *_ = tool.search(pair, pair.base, pair.head, options.time, lambda difference: False, extra)
        stats = results["stats"]
        counts = stats.get("branches", {"runs": 0})
        if not counts["runs"]:
            row(program.name, program.language, pair.name, "", "", "", "", results.get("error", "not counted"))
            continue
        untainted = 1 - counts["symbolic"] / max(counts["executed"], 1)
        rows.append(untainted)
        row(
            program.name,
            program.language,
            f"{pair.base.name} → {pair.head.name}",
            f"{symbolic_bytes(pair.inputs)} bytes",
            stats["runs"],
            f"{counts['executed'] / counts['runs']:.0f}",
            f"{counts['symbolic'] / counts['runs']:.0f}",
            f"{untainted:.1%}",
        )
    if rows:
        most = sum(untainted >= 0.9 for untainted in rows)
        print(f"\nmedian {statistics.median(rows):.1%}; 90 % or more in {most} of {len(rows)} programs")
    return True


def symbolic_bytes(inputs):
    """How much of the input a search ranges over."""
    return sum(data.get("stdin", 0) + data.get("sym-arg", 0) + data.get("size", 0) for data in inputs)


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else ""


def itself(tool, programs, options):
    head("program", "verdict", "runs", "pairs of paths", "note")
    good = total = 0
    for program in programs:
        version = list(program.versions.values())[-1]
        pair = Pair(program, {"base": version.name, "head": version.name})
        # A guide would see that nothing has changed, and have nothing done.
        results, found, _ = tool.search(pair, version, version, options.self_time, extra=("--guide", "none"))
        total += 1
        fine = results["verdict"] in ("none-found", "equivalent")
        good += fine
        note = results.get("error", "") if found is None else f"**{described(found)}**"
        stats = results["stats"]
        row(program.name, results["verdict"], stats.get("runs", ""), stats.get("pairs", ""), note)
    print(f"\n{good} of {total} programs do not differ from themselves")
    return good == total


def difference(tool, programs, options):
    head("pair", "documented change", "found", "seconds", "runs", "all runs", "input", "old → new", "note")
    documented = found_documented = found_any = total = 0
    for program in programs:
        for pair in program.pairs:
            if options.fast and not pair.fast:
                continue
            seconds = options.time if pair.change else options.other_time or options.time
            results, found, enough = tool.search(pair, pair.base, pair.head, seconds, pair.is_documented if pair.change else anything)
            stats = results["stats"]
            total += 1
            documented += bool(pair.change)
            grouped = None
            if pair.change and found is not None and not enough:
                binaries = [tool.build(version)[0]["plain"] for version in (pair.base, pair.head)]
                grouped = replay.documented(pair, binaries, results["searched"])
            if grouped:
                stats["runs"], found = grouped
                stats.pop("seconds", None)
                enough = True
            found_documented += bool(pair.change) and enough
            found_any += found is not None
            note = results.get("error") or why(results, found, pair)
            if grouped:
                note = "in the group of another difference"
            answer = "no" if found is None else "yes" if not pair.change else "**the documented one**" if enough else "another"
            first = stats.get("seconds_to_first_difference")
            seconds = stats.get("seconds") if pair.change and enough else first
            runs = stats.get("runs") if pair.change and enough else stats.get("runs_to_first_difference")
            row(
                pair.name,
                pair.change or "none known",
                answer,
                "" if seconds is None else f"{seconds:.1f}",
                "" if runs is None else runs,
                stats.get("runs", ""),
                input_text(found),
                described(found),
                note,
            )
    print(f"\n{found_documented} of {documented} documented changes found, a difference in {found_any} of {total} pairs")
    # Those marked as fast are found with ease; of the others nothing is promised.
    return not options.fast or found_documented == documented


def anything(_):
    return True


def why(results, found, pair):
    """Why nothing was found, as far as the results tell."""
    if found is not None:
        return pair.note
    reasons = [results.get("inconclusive") or ""]
    if results.get("stopped") == "exhausted":
        reasons.append(f"nothing is left to explore after {results['stats'].get('seconds', 0):.1f} s")
    reasons += [f"{loss['reason']} at {loss['file']}:{loss['line']}" for loss in results.get("losses", [])[:2]]
    return "; ".join(filter(None, [pair.note, results.get("verdict", "")] + reasons))[: 2 * LONGEST_TEXT]


def input_text(found):
    if found is None:
        return ""
    streams = found["input"]["streams"]
    return ", ".join(f"{stream['label']} `{cut(repr(stream.get('text', ''))[1:-1])}`" for stream in streams)


def described(found):
    if found is None:
        return ""
    sides = []
    for side in (found["base"], found["head"]):
        end = next((f"{key} {side[key]}" for key in ("exit", "signal") if key in side), "hangs")
        sides.append(f"{end} `{cut(repr(side['stdout'] + side['stderr'])[1:-1])}`")
    return " → ".join(sides)


def cut(text):
    most = LONGEST_TEXT // 2
    text = text.replace("`", "'")
    return text if len(text) <= most else text[:most] + "…"


def speed(tool, programs, options):
    """CPU time on the load, start-up taken out; least of some runs. The native and the concrete run get the load so often that it takes
    a while; the symbolic ratio takes for granted that native time grows with the input."""
    head("program", "load", "native ms", "concrete ms", "ratio", "symbolic load", "symbolic ms", "ratio", "nodes", "events")
    concrete_ratios, symbolic_ratios = [], []
    for program in programs:
        version = list(program.versions.values())[-1]
        load = program.data.get("load")
        built, _, error = tool.build(version)
        if not load or not built:
            row(program.name, error or "no load", *[""] * 8)
            continue
        empty = dict(load, times=0)
        document, error = tool.trace(version, program.inputs, load, extra=())
        nothing, _ = tool.trace(version, program.inputs, empty, extra=())
        if document is None or nothing is None:
            row(program.name, error, *[""] * 8)
            continue
        more, native = lengthened(built["plain"], program, load, empty)
        size = document["input"]["bytes"]
        if native < SHORTEST or size < SMALLEST:
            row(program.name, f"{size * more} bytes", f"{native * 1e3:.2f}", "too short to measure", *[""] * 6)
            continue
        traced = traced_binary(built)
        long = dict(load, times=load["times"] * more)
        concrete = least(traced, program, long) - least(traced, program, empty)
        concrete_ratios.append(concrete / native)
        symbolic = symbolic_seconds(tool, version, load, empty)
        cells = [program.name, f"{size * more} bytes", f"{native * 1e3:.1f}", f"{concrete * 1e3:.1f}", f"{concrete / native:.1f}×"]
        cells += [f"{size} bytes", f"{symbolic * 1e3:.1f}"]
        if symbolic < SHORTEST_SYMBOLIC:
            cells += ["too short to measure"]
        elif document["end"].startswith("exit"):
            symbolic_ratios.append(symbolic / (native / more))
            cells += [f"{symbolic_ratios[-1]:.0f}×"]
        else:
            cells += [document["end"]]
        row(*cells, document["nodes"], document["events"])
    for name, ratios in (("concrete", concrete_ratios), ("symbolic", symbolic_ratios)):
        if ratios:
            print(f"\n{name}: median {statistics.median(ratios):.1f}×, worst {max(ratios):.1f}×", end="")
    print()
    return True


def symbolic_seconds(tool, version, load, empty):
    """What is short is measured more often: the least of few runs may be off by more than it takes."""
    for runs in (3, 15):
        seconds = traced_seconds(tool, version, load, runs) - traced_seconds(tool, version, empty, runs)
        if seconds >= 5 * SHORTEST_SYMBOLIC:
            break
    return max(seconds, 0)


def traced_seconds(tool, version, load, runs):
    """Of the fastest symbolic run. Other work of the machine is in it."""
    documents = (tool.trace(version, version.program.inputs, load, extra=())[0] for _ in range(runs))
    return min(document["seconds"] for document in documents if document)


# Seconds: below, the clock says nothing; above, it is long enough.
SHORTEST, ENOUGH = 0.002, 0.02
SHORTEST_SYMBOLIC = 0.0005
# Bytes: the symbolic run of a smaller load is no longer than what else happens.
SMALLEST = 200


def lengthened(binary, program, load, empty):
    """How often the load is needed for a run that can be measured, and the seconds of that run."""
    start, more = least(binary, program, empty), 1
    while True:
        native = least(binary, program, dict(load, times=load["times"] * more)) - start
        if native >= ENOUGH or more >= 1000:
            return more, native
        more *= 10


def traced_binary(built):
    """Kept by the key of the build and that of the tracer: the newest is the one that was just used."""
    places = (CACHE / "traced").glob(f"{built['key']}-*/traced")
    return max(places, key=lambda place: place.stat().st_mtime)


def least(binary, program, load, runs=3):
    """CPU seconds of the fastest run outside of the sandbox. A traced binary then runs with all labels zero."""
    best = float("inf")
    with tempfile.TemporaryDirectory() as room:
        arguments, stdin = laid_out(program.inputs, load, pathlib.Path(room))
        for _ in range(runs):
            with open(stdin) as file:
                child = subprocess.Popen(
                    [binary, *arguments], stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=room
                )
                _, _, usage = os.wait4(child.pid, 0)
            child.returncode = 0
            best = min(best, usage.ru_utime + usage.ru_stime)
    return best
