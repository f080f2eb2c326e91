#!/usr/bin/env bash
# Runs the commands that the documentation shows, with the words in capitals filled in, and compares the README's example with what is
# really printed.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
target="${CARGO_TARGET_DIR:-$root/target}"
changeling="$target/release/changeling"
[ -x "$changeling" ] || (cd "$root" && cargo build --release --quiet)
room="$(mktemp -d)"
trap 'rm -rf "$room"' EXIT
export PATH="$room/bin:$PATH"
mkdir "$room/bin"
ln -s "$changeling" "$room/bin/changeling"

# What the commands speak of: two files, two directories, a repository with a tag.
old="$root/fixtures/demo/old.c" new="$root/fixtures/demo/new.c"
cd "$room"
git init --quiet --initial-branch main .
git config user.name tests
git config user.email tests@invalid
printf 'prog: tool.c\n\t$(CC) $(CFLAGS) -o $@ tool.c\n' >Makefile
cp "$old" tool.c
git add Makefile tool.c
git commit --quiet -m old
git tag v1.2
cp "$new" tool.c
git commit --quiet -am new
mkdir a b
cp Makefile a && cp Makefile b
cp "$old" a/tool.c && cp "$new" b/tool.c
cp "$old" old.c && cp "$new" new.c && cp "$new" program.c
changeling run old.c new.c --sym-arg 4 --differences 1 --quiet >/dev/null || [ $? -eq 1 ]
cp -r .changeling/out/cases/0001-* case

commands() {
  # The commands of a page, without what stands behind two spaces.
  sed -n 's/^    \(\$ \)\{0,1\}\(changeling [a-z].*\)$/\2/p' "$1" | sed 's/  .*//'
}

failed=0
tried=0
for page in run diff graph harness guides; do
  while read -r command; do
    case "$command" in
    *"--base v"* | *"--base main"* | *"--base-dir"*) command="${command/ --build \'make\' --program prog/} --build make --program prog" ;;
    esac
    case "$command" in
    "changeling run"*--harness*) command="$command --time 5s --quiet" ;;
    "changeling run"*) command="$command --sym-arg 3 --time 5s --quiet" ;;
    esac
    command="${command//FILE:LINE/program.c:81}"
    command="${command//CASE/case}"
    case "$command" in
    *"OLD NEW"*) command="${command//OLD NEW/old.c new.c}" ;;
    *) command="${command//VERSION/new.c}" ;;
    esac
    command="${command//FUNCTION/parse_duration}"
    case "$command" in
    "changeling reach"*) command="${command/--stdin 8/--sym-arg 8}" ;;
    esac
    tried=$((tried + 1))
    code=0
    eval "$command" >said 2>&1 || code=$?
    # 1: differences, changes.
    if [ "$code" -gt 1 ]; then
      echo "docs/$page.md: \`$command\` ends with $code:"
      cat said
      failed=1
    fi
  done < <(commands "$root/docs/$page.md")
done
if [ "$tried" -lt 12 ]; then
  echo "only $tried commands were found in the documentation"
  failed=1
fi

cd "$root"
sed -n '/^    \$ changeling run/,/^    report:/p' README.md | sed 's/^    //' >"$room/shown"
command="$(sed -n '1s/^\$ //p' "$room/shown")"
eval "$command --out $room/out --cache $room/cache" >"$room/said" 2>&1 || true
sed 1d "$room/shown" | grep -v -e '^ *…$' -e '^report:' | while read -r line; do
  if ! grep -qF -- "$line" "$room/said"; then
    echo "README.md shows a line that \`$command\` does not print: $line"
    exit 1
  fi
done || failed=1
[ "$failed" -eq 0 ] && echo "documentation: $tried commands and the README's example"
exit "$failed"
