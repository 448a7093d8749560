#!/bin/sh
# Speed and memory beside public tools, as ratios taken in one run: `make bench`.
#   B=build/release SIZE_MIB=200 ROWS=200000 ROUNDS=3 sh tests/bench/run.sh
# Never a test: a busy machine may miss a bound. Processor time, least of ROUNDS, both sides in turn.
# A tool that is not installed is named as skipped.
set -eu
B=${B:-build/release}
SIZE_MIB=${SIZE_MIB:-200}
ROWS=${ROWS:-200000}
ROUNDS=${ROUNDS:-3}
LC_ALL=C
export LC_ALL

here=$(pwd)
case "$B" in /*) ;; *) B=$here/$B ;; esac
flatline=$B/flatline
bench=$B/tests/bench
folder=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP
HOME=$folder XDG_STATE_HOME=$folder/state XDG_CACHE_HOME=$folder/cache XDG_CONFIG_HOME=$folder/config
export HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME

# ---- Input ----

mkdir "$folder/log" "$folder/state-run" "$folder/small"
log=$folder/log/console.log
state=$folder/state-run/trainer_state.json
"$bench/bench_console_log" "$SIZE_MIB" "$log" > "$folder/out"

write_state() {     # rows
    awk -v n="$1" 'BEGIN {
        printf "{\n  \"epoch\": 3.0,\n  \"global_step\": %d,\n  \"log_history\": [\n", n
        for (i = 1; i <= n; i++)
            printf "    {\n      \"entropy\": %.15f,\n      \"epoch\": %.15g,\n      \"grad_norm\": %.16g,\n      \"learning_rate\": %.17g,\n      \"loss\": %.15f,\n      \"mean_token_accuracy\": %.16f,\n      \"num_tokens\": %.1f,\n      \"step\": %d\n    }%s\n", 1.1 + (i * 7919 % 1000) / 1009, 3 * i / n, 0.5 + (i * 104729 % 1000) / 1013, 2e-4 * (1 - i / n), 1.2 + (i * 15485863 % 1000) / 997, 0.7 + (i % 97) / 1000.1, 1711 * i, i, i < n ? "," : ""
        printf "  ],\n  \"logging_steps\": 1,\n  \"max_steps\": %d,\n  \"num_train_epochs\": 3\n}\n", n }'
}
write_state "$ROWS" > "$state"
write_state 2000 > "$folder/small/trainer_state.json"
head -c 5000000 "$log" > "$folder/small/console.log"

# ---- Table ----

. tests/bench/frame.sh
has() {
    command -v "$1" > "$folder/out" 2>&1
}
import="rm -f $folder/new.db*; exec $flatline import --db $folder/new.db"

versus() {          # what, ours, theirs, bound ("": none)
    costs=$("$bench/bench_versus" "$ROUNDS" "$2" "$3") || { row "$1" - - - - "FAILED"; return; }
    set -- "$1" "$4" $costs
    r=$(ratio "$3" "$5")
    if [ -n "$2" ]; then
        row "$1" "$3 s" "$5 s" "$r x" ">= $2 x" "$(met "$r" "$2")"
    else
        row "$1" "$3 s" "$5 s" "$r x" "" ""
    fi
}
memory() {          # what, ours, bound in MiB
    costs=$("$bench/bench_versus" 1 "$2") || { row "$1" - - - - "FAILED"; return; }
    set -- "$1" "$3" $costs
    row "$1" "$4 MiB" "" "" "<= $2 MiB" "$(within "$4" "$2")"
}
time_of() {         # what, ours, bound in ms
    costs=$("$bench/bench_versus" 5 "$2") || { row "$1" - - - - "FAILED"; return; }
    set -- "$1" "$3" $costs
    ms=$(awk -v s="$3" 'BEGIN { printf "%.1f", s * 1000 }')
    row "$1" "$ms ms" "" "" "<= $2 ms" "$(within "$ms" "$2")"
}

printf 'console log %s MiB, state of %s rows; processor time, least of %s\n\n' \
    "$SIZE_MIB" "$ROWS" "$ROUNDS"
row "" flatline other ratio budget ""

"$bench/bench_literals" > "$folder/literals"
versus "import of the console log / grep -cFf" \
    "$import $folder/log" "exec grep -cFf $folder/literals $log" 1
if has lnav; then
    # its index of a file of no known format is where the lines begin, and nothing of what they say
    versus "import of the console log / lnav, index of lines only" \
        "$import $folder/log" "exec lnav -n -c ';SELECT count(*) FROM lnav_file' $log" 5
    all_rounds=$ROUNDS
    ROUNDS=1
    versus "import of the console log / lnav, read and written out" \
        "$import $folder/log" "exec lnav -n -c ':goto 0' $log" ""
    ROUNDS=$all_rounds
else
    skip "import of the console log / lnav" "lnav is not installed"
fi
if has python3; then
    versus "import of trainer_state.json / python json.load" "$import $folder/state-run" \
        "exec python3 -c 'import json; json.load(open(\"$state\"))'" 3
else
    skip "import of trainer_state.json / python json.load" "python3 is not installed"
fi
memory "memory: import of the console log" "$import $folder/log" 96
memory "memory: import of trainer_state.json" "$import $folder/state-run" 96
memory "memory: check of the console log" "$flatline check --db $folder/a.db $folder/log" 200
memory "memory: check of trainer_state.json" "$flatline check --db $folder/b.db $folder/state-run" 200
printf 'screenshot %s\n' "$folder/shot" > "$folder/script"
time_of "first import of 2,000 rows and 5 MB: screen at rest" \
    "rm -f $folder/c.db*; exec $flatline --db $folder/c.db --script $folder/script $folder/small" 100
time_of "the same again, from the cache" \
    "exec $flatline --db $folder/c.db --script $folder/script $folder/small" 50
time_of "--help" "exec $flatline --help" 10
redraw=$("$bench/bench_redraw" 1000000)
set -- $redraw
row "redraw of 1,000,000 points" "$1 ms" "" "" "<= 5 ms" "$(within "$1" 5)"
row "redraw of a fifth of them" "$2 ms" "" "" "<= 5 ms" "$(within "$2" 5)"

# ---- The engines of text: their peers come from pip, once for all ----

bring_peers "$folder" || true
export B PEERS
sh tests/bench/tokenizers.sh
sh tests/bench/rendering.sh
sh tests/bench/audit.sh
sh tests/bench/loggers.sh
sh tests/bench/tables.sh
sh tests/bench/weights.sh
sh tests/bench/history.sh
sh tests/bench/similar.sh
sh tests/bench/data.sh
