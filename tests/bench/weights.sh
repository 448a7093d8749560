#!/bin/sh
# Weight files: part of `make bench`.
#   B=build/release [MIB=512] [ROUNDS=3] sh tests/bench/weights.sh
# Processor time, least of ROUNDS. Hashing beside `openssl dgst`, norms beside the same loop over
# memory and beside reading the file alone (cat), which bounds both.
set -eu
B=${B:-build/release}
MIB=${MIB:-512}
ROUNDS=${ROUNDS:-3}
LC_ALL=C
export LC_ALL
. tests/bench/frame.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
HOME=$work XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config
export HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME
weights="$B/tests/bench/bench_weights"
file=$work/big/model.safetensors
mkdir "$work/big" "$work/shards"
"$weights" make "$MIB" "$file"
"$weights" shards 100 "$work/shards"

rate() {            # command: MiB a second
    set -- $("$B/tests/bench/bench_versus" "$ROUNDS" "$1")
    awk -v s="$1" -v m="$MIB" 'BEGIN { printf "%.0f", m / s }'
}
most() {            # what: the best of ROUNDS
    best=0
    for round in $(seq "$ROUNDS"); do
        now=$("$weights" norms "$1" "$MIB")
        [ "$now" -gt "$best" ] && best=$now
    done
    echo "$best"
}
read_rate=$(rate "cat $file | cat > /dev/null")
row "reading the file (cat)" "$read_rate MiB/s" "" "" "" ""
memory=$(most memory)
norms=$(most "$file")
share() {           # ours theirs
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", ((b + 0 > 0) ? a / b : 0) }'
}
row "norms of a file / the same loop over memory, MiB/s" "$norms" "$memory" \
    "$(share "$norms" "$memory")" ">= 0.70" "$(met "$(share "$norms" "$memory")" 0.7)"
if command -v openssl > /dev/null; then
    theirs=$(rate "openssl dgst -sha256 $file")
    # one run that imports, hashes and measures, less its norms
    set -- $("$B/tests/bench/bench_versus" "$ROUNDS" "rm -f $work/new.db*; exec $B/flatline check --set measure=all --db $work/new.db $work/big > /dev/null || true")
    ours=$(awk -v s="$1" -v m="$MIB" -v n="$norms" 'BEGIN { printf "%.0f", m / (s - m / n) }')
    row "SHA-256 / openssl dgst, MiB/s" "$ours" "$theirs" "$(share "$ours" "$theirs")" ">= 0.70" \
        "$(met "$(share "$ours" "$theirs")" 0.7)"
    row "both, memory" "$2 MiB" "" "" "<= 96 MiB" "$(within "$2" 96)"
else
    skip "SHA-256" "openssl is not installed"
fi
import() {          # what: milliseconds
    set -- $("$B/tests/bench/bench_versus" "$ROUNDS" "rm -f $work/new.db*; exec $B/flatline import --db $work/new.db $1")
    awk -v s="$1" 'BEGIN { printf "%.1f", s * 1000 }'
}
index=$(import "$work/shards/model.safetensors.index.json")
row "index of 100 shards, 10,000 tensors" "$index ms" "" "" "<= 50 ms" "$(within "$index" 50)"
row "the same with the headers of the shards" "$(import "$work/shards") ms" "" "" "" ""
