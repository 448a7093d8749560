#!/bin/sh
# What all training rows say together (stage 5) beside parsing them: part of `make bench`.
#   B=build/release ROWS=1000000 sh tests/bench/data.sh
# Processor time of the whole pass, reading included, beside Python's json over the same lines and beside
# our own parser over them.
set -eu
B=${B:-build/release}
ROWS=${DATA_ROWS:-1000000}
LC_ALL=C
export LC_ALL
. tests/bench/frame.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
set -- $("$B/tests/bench/bench_data" "$work/rows.jsonl" "$ROWS")
row "stage 5 over $ROWS rows / our parser alone" "$2 s" "$1 s" "$(ratio "$1" "$2")" "" ""
if command -v python3 > "$work/out"; then
    theirs=$(python3 -c "
import json, time
begin = time.process_time()
for line in open('$work/rows.jsonl', 'rb'):
    json.loads(line)
print('%.3f' % (time.process_time() - begin))")
    share=$(ratio "$theirs" "$2")
    row "stage 5 over $ROWS rows / python json.loads" "$2 s" "$theirs s" "$share" "<= 2" "$(within "$share" 2)"
else
    skip "stage 5 over $ROWS rows / python json.loads" "python3 is not installed"
fi
