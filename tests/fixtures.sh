#!/usr/bin/env bash
# Worked examples whose differing inputs the specification counts: every input of the stated range is run natively, without Changeling.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/fixtures/check" oracles/b1 oracles/e-e1 oracles/o72 oracles/q1 oracles/q1-constant oracles/q10 oracles/q9 oracles/t5
