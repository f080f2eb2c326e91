#!/usr/bin/env python3
"""Replays recorded queries with Z3's API and writes what each cost.

    z3_replay.py DIR OUT.json

The fairest use of Z3 that we know: one incremental Solver per program, which keeps
the conditions of the current path as a stack. For each query the stack is cut
back to the prefix that it shares with the query, the rest of the prefix is pushed,
then the goal, and only check() is timed: reading, building terms and asserting are free.
"""

import json
import pathlib
import sys
import time

import z3

LIMIT_MS = 1000


def replay(directory):
    results = {}
    solver = z3.Solver()
    solver.set("timeout", LIMIT_MS)
    stack = []
    for path in sorted(directory.glob("*.smt2")):
        conditions = list(z3.parse_smt2_string(path.read_text()))
        prefix, goal = conditions[:-1], conditions[-1]
        common = 0
        while (
            common < min(len(stack), len(prefix))
            and stack[common].get_id() == prefix[common].get_id()
        ):
            common += 1
        if len(stack) > common:
            solver.pop(len(stack) - common)
            del stack[common:]
        for condition in prefix[common:]:
            solver.push()
            solver.add(condition)
            stack.append(condition)
        solver.push()
        solver.add(goal)
        start = time.perf_counter()
        answer = solver.check()
        seconds = time.perf_counter() - start
        solver.pop()
        results[path.name] = {"answer": str(answer), "seconds": seconds}
    return results


def main():
    root, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    programs = sorted(path for path in root.iterdir() if path.is_dir())
    measured = {path.name: replay(path) for path in programs}
    out.write_text(json.dumps(measured))
    print("z3", z3.get_version_string(), sum(len(one) for one in measured.values()), "queries")


if __name__ == "__main__":
    main()
