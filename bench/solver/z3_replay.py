#!/usr/bin/env python3
"""Replays recorded queries with Z3's API and prints what each cost, one JSON object per line.

    z3_replay.py MODE DIR COUNT      the first COUNT queries; MODE: general, bitvectors or fresh

Reading a file, building terms and asserting them are not timed, only check(). Terms are built once: Z3 makes equal terms
one term, and those of the current path are kept.

  general      one z3.Solver for all queries. It keeps the conditions of the current path as a stack: for each query it is cut back
               to the prefix shared with the query, the rest is pushed, then the goal, then check(), then the goal is popped
  bitvectors   the same with SolverFor("QF_BV"), which turns everything into SAT
  fresh        a new SolverFor("QF_BV") for each query: no stack to keep, all of its preprocessing
"""

import json
import multiprocessing
import pathlib
import re
import sys
import time

import z3

LIMIT_MS = 2000
SILENCE_SECONDS = 8
# After so many a way of using Z3 counts as unfit for the program.
MOST_HANGS = 5
# Names would make the conditions mere assumptions.
NAMED = re.compile(r"^\(assert \(! (.*) :named \w+\)\)$", re.MULTILINE)


def main():
    mode, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    print(json.dumps({"version": z3.get_version_string()}))
    files = sorted(directory.glob("*.smt2"))[: int(sys.argv[3])]
    hangs = 0
    while files and hangs < MOST_HANGS:
        answered = replay(mode, files)
        hangs += answered < len(files)
        if answered < len(files):
            # Some of Z3's work does not heed its time limit.
            report(files[answered], "unknown", 1.0)
        files = files[answered + 1 :]


def replay(mode, files):
    """Asks in a process of its own, until the end or until that is silent for too long. How many were answered."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.Process(target=ask_all, args=(mode, files, sender), daemon=True)
    child.start()
    sender.close()
    answered = 0
    while answered < len(files) and receiver.poll(SILENCE_SECONDS):
        report(files[answered], *receiver.recv())
        answered += 1
    child.kill()
    child.join()
    return answered


def ask_all(mode, files, sender):
    stack = Stack(mode)
    for file in files:
        text = NAMED.sub(r"(assert \1)", file.read_text())
        conditions = list(z3.parse_smt2_string(text))
        sender.send(stack.ask(conditions[:-1], conditions[-1]))


def report(file, answer, seconds):
    print(json.dumps({"file": file.name, "answer": answer, "seconds": seconds}), flush=True)


class Stack:
    def __init__(self, mode):
        self.mode = mode
        self.solver = None if mode == "fresh" else make(mode)
        self.conditions = []

    def ask(self, prefix, goal):
        if self.mode == "fresh":
            solver = make("bitvectors")
            solver.add(*prefix, goal)
            return timed_check(solver)
        common = 0
        for old, new in zip(self.conditions, prefix):
            if old.get_id() != new.get_id():
                break
            common += 1
        self.solver.pop(len(self.conditions) - common)
        del self.conditions[common:]
        for condition in prefix[common:]:
            self.solver.push()
            self.solver.add(condition)
            self.conditions.append(condition)
        self.solver.push()
        self.solver.add(goal)
        result = timed_check(self.solver)
        self.solver.pop()
        return result


def make(mode):
    solver = z3.Solver() if mode == "general" else z3.SolverFor("QF_BV")
    solver.set("timeout", LIMIT_MS)
    return solver


def timed_check(solver):
    start = time.process_time()
    answer = solver.check()
    return str(answer), time.process_time() - start


if __name__ == "__main__":
    main()
