#!/usr/bin/env bash
# The library models against the C library.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../models/tests/run"
