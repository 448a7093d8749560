#!/bin/sh
# Importing what loggers wrote, every point stored: part of `make bench`.
#   B=build/release [ROUNDS=3] sh tests/bench/loggers.sh
# Processor time, least of ROUNDS. TensorBoard's own loader takes 0.45 to 0.60 s for a million scalars
# and keeps a thousand of them; W&B's terminal viewer reads 110,000 records a second. Rows of a trainer
# are held against wc -l of the same file: duckdb needs about 12 times that, pyarrow 47 times.
set -eu
B=${B:-build/release}
ROUNDS=${ROUNDS:-3}
TRAINER_ROWS=${TRAINER_ROWS:-4500000}       # 1 GB
LC_ALL=C
export LC_ALL
. tests/bench/frame.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
HOME=$work XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config
export HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME
mkdir "$work/tb" "$work/wb" "$work/rows"
"$B/tests/bench/bench_loggers" tensorboard 1000000 "$work/tb/events.out.tfevents.1700000000.host"
"$B/tests/bench/bench_loggers" wandb 300000 "$work/wb/run-bench.wandb"
import="rm -f $work/new.db*; exec $B/flatline import --db $work/new.db"

measure() {         # folder: sets seconds and mib
    set -- $("$B/tests/bench/bench_versus" "$ROUNDS" "$import $work/$1")
    seconds=$1 mib=$2
}
measure tb
row "event file of 1,000,000 scalars" "$seconds s" "" "" "<= 0.5 s" "$(within "$seconds" 0.5)"
row "event file, memory" "$mib MiB" "" "" "<= 96 MiB" "$(within "$mib" 96)"
measure wb
rate=$(awk -v s="$seconds" 'BEGIN { printf "%.0f", 300000 / s }')
row ".wandb, records a second" "$rate /s" "" "" ">= 275000" "$(met "$rate" 275000)"
row ".wandb, memory" "$mib MiB" "" "" "<= 96 MiB" "$(within "$mib" 96)"
"$B/tests/bench/bench_loggers" rows "$TRAINER_ROWS" "$work/rows/metrics.jsonl"
set -- $("$B/tests/bench/bench_versus" "$ROUNDS" "$import $work/rows" \
    "exec wc -l $work/rows/metrics.jsonl")
r=$(awk -v a="$1" -v b="$3" 'BEGIN { printf "%.2f", a / (b > 0 ? b : 0.0001) }')
row "$TRAINER_ROWS rows of a trainer as JSON lines / wc -l" "$1 s" "$3 s" "$r x" "<= 12 x" "$(within "$r" 12)"
row "rows of a trainer, memory" "$2 MiB" "" "" "<= 96 MiB" "$(within "$2" 96)"
