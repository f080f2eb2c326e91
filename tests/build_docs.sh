#!/usr/bin/env bash
# Runs the examples of docs/build/*.md, each from scratch in an empty directory whose name has a space, and compares what is shown with what is printed.
# usage: tests/build_docs.sh [PAGE...]
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
target="${CARGO_TARGET_DIR:-$root/target}"
[ -x "$target/release/changeling" ] || (cd "$root" && cargo build --release --quiet)
room="$(mktemp -d)"
trap 'rm -rf "$room"' EXIT
mkdir "$room/bin"
ln -s "$target/release/changeling" "$room/bin/changeling"
export PATH="$room/bin:$PATH"

failed=0
tried=0
for page in "$root"/docs/build/*.md; do
  name="$(basename "$page" .md)"
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  # Commands follow `$ `, with here-documents up to END; what else is indented was printed.
  sed -n 's/^    //p' "$page" | awk '
    inside { print; if ($0 == "END") inside = 0; next }
    sub(/^\$ /, "") { print; if (/<<.END.$/) inside = 1 }' >"$room/script"
  [ -s "$room/script" ] || continue
  sed -n 's/^    //p' "$page" | awk '
    inside { if ($0 == "END") inside = 0; next }
    /^\$ / { shown = 1; if (/<<.END.$/) inside = 1; next }
    /^changeling / { next }
    shown { print }' >"$room/shown"
  mkdir "$room/of $name"
  tried=$((tried + 1))
  code=0
  (cd "$room/of $name" && bash -e "$room/script") >"$room/said" 2>&1 || code=$?
  # 1: differences were found, as all examples show.
  if [ "$code" -ne 1 ]; then
    echo "docs/build/$name.md: the example ends with $code:"
    cat "$room/said"
    failed=1
  fi
  while read -r line; do
    if ! grep -qF -- "$line" "$room/said"; then
      echo "docs/build/$name.md shows a line that is not printed: $line"
      cat "$room/said"
      failed=1
    fi
  done <"$room/shown"
done
if [ $# -eq 0 ] && [ "$tried" -lt 4 ]; then
  echo "only $tried examples were found in docs/build"
  failed=1
fi
[ "$failed" -eq 0 ] && echo "docs/build: $tried examples"
exit "$failed"
