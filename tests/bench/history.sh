#!/bin/sh
# The history of one file over 10,000 commits beside git, in one run: part of `make bench`.
#   B=build/release COMMITS=10000 sh tests/bench/history.sh
# The repository is made anew: merges, renames, copies, a file that changes in one commit of seven. Once as
# `git fast-import` leaves it, once after `git gc` (which writes the commit-graph).
set -eu
B=${B:-build/release}
COMMITS=${COMMITS:-10000}
LC_ALL=C
export LC_ALL
. tests/bench/frame.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
bench=$B/tests/bench
if ! command -v git > "$work/out" || ! command -v python3 > "$work/out"; then
    skip "history of a file / git log --follow" "git or python3 is not installed"
    exit 0
fi

GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL
path=$(PYTHONDONTWRITEBYTECODE=1 python3 -c "import sys; sys.path.insert(0, 'tests/fuzz/oracle')
import git_history as g; print(g.make('$work/repo', 3, $COMMITS, True))")

compare() {         # what
    what="history of $COMMITS commits$1 / git log --follow"
    costs=$("$bench/bench_versus" "${ROUNDS:-3}" "exec $bench/bench_history $work/repo $path" \
        "exec git -C $work/repo log --follow --format=%H -- $path") || { row "$what" - - - - FAILED; return; }
    set -- "$what" $costs
    row "$1" "$2 s" "$4 s" "$(ratio "$4" "$2")" "<= 1.5" "$(within "$(ratio "$4" "$2")" 1.5)"
}
# The newest commit changed the file, so that the first row is one.
first_row() {
    ms=$("$bench/bench_history" "$work/repo" "$path" | sed 's/.*first \([0-9.]*\) ms.*/\1/')
    row "first row of it" "$ms ms" "" "" "<= 50 ms" "$(within "$ms" 50)"
}
compare ""
git -C "$work/repo" gc -q
compare ", gc"
first_row
"$bench/bench_history" "$work/repo" "$path" --list | cut -d' ' -f1 > "$work/ours"
git -C "$work/repo" log --follow --format=%H -- "$path" > "$work/theirs"
cmp -s "$work/ours" "$work/theirs" || row "the same list as git's" - - - - MISSED
