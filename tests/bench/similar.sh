#!/bin/sh
# Near-duplicates among rows of 40 words: pairs against brute force, time beside rensa and datasketch,
# memory of many rows. Part of `make bench`.
#   B=build/release [SIMILAR_ROWS=100000] [SIMILAR_MANY=1000000] sh tests/bench/similar.sh
# Processor time of one thread, normal texts and shingles included on our side alone.
set -eu
B=${B:-build/release}
rows=${SIMILAR_ROWS:-100000}
many=${SIMILAR_MANY:-1000000}
few=$((rows / 10))
LC_ALL=C
export LC_ALL
. tests/bench/frame.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
bench=$B/tests/bench/bench_similar
if ! bring_peers "$work" || ! "$python" -m pip install -q --disable-pip-version-check \
    numpy xxhash rensa datasketch > "$work/pip.out" 2>&1; then
    skip "near-duplicates / brute force, rensa, datasketch" "pip cannot bring the peers"
    exit 0
fi
peers="$python tests/bench/similar_peers.py"

pairs_are() {       # what, file, threshold, options of ours, of brute force
    $peers truth "$2" "$3" ${5:-} | sort > "$work/true"
    # shellcheck disable=SC2086
    "$bench" "$2" "$3" --pairs ${4:-} | sort > "$work/found"
    row "$1" "$(wc -l < "$work/found") pairs" "$(wc -l < "$work/true") pairs" "" "the same" \
        "$(cmp -s "$work/found" "$work/true" && echo ok || echo MISSED)"
}
rate() {            # what, file, bound in rows a second, options
    # shellcheck disable=SC2086
    set -- "$1" "$3" $("$bench" "$2" 0.8 ${4:-})
    r=$(awk -v s="$3" -v n="$4" 'BEGIN { printf "%d", n / s }')
    row "$1" "$r rows/s" "$6 MiB" "" ">= $2" "$(met "$r" "$2")"
}
beside() {          # peer, file, pairs, seconds of ours
    set -- "$1" "$4" $($peers "$1" "$2" 0.8 "$3")
    row "near-duplicates / $1 (recall $5, precision $6)" "$2 s" "$3 s" "$(ratio "$2" "$3") x" "" ""
}

$peers make "$rows" "$work/rows"
head -n "$few" "$work/rows" > "$work/few"
pairs_are "near-duplicates, Jaccard 0.8 / brute force" "$work/rows" 0.8
cp "$work/true" "$work/pairs"
pairs_are "near-duplicates, bands of MinHash / brute force" "$work/few" 0.8 --banded
cp "$work/true" "$work/few-pairs"
pairs_are "near-duplicates, 0.5 or contained / brute force" "$work/few" 0.5 "--containment 0.8" 0.8
rate "near-duplicates, $rows rows of 40 words" "$work/rows" 100000
rate "near-duplicates, bands of MinHash" "$work/rows" 30000 --banded
seconds=$("$bench" "$work/rows" 0.8 | cut -d' ' -f1)
beside rensa "$work/rows" "$work/pairs" "$seconds"
seconds=$("$bench" "$work/few" 0.8 | cut -d' ' -f1)
beside datasketch "$work/few" "$work/few-pairs" "$seconds"
awk -v rows=400 -v seed=1 -f tests/bench/templates.awk > "$work/some"
awk -v rows=2000 -v seed=2 -f tests/bench/templates.awk > "$work/other"
$peers nearest "$work/some" "$work/other" 0.5 > "$work/true"
"$bench" "$work/some" 0.5 --nearest "$work/other" --pairs > "$work/found"
row "nearest rows among templates / brute force" "$(wc -l < "$work/found") rows" \
    "$(wc -l < "$work/true") rows" "" "the same" \
    "$(cmp -s "$work/found" "$work/true" && echo ok || echo MISSED)"
awk -v rows="$((rows / 5))" -v seed=1 -f tests/bench/templates.awk > "$work/some"
awk -v rows="$rows" -v seed=2 -f tests/bench/templates.awk > "$work/other"
# One by one each would meet a third of the others: the square of the rows.
rate "nearest rows of $((rows / 5)) among $rows of three templates" "$work/some" 20000 \
    "--nearest $work/other"
i=0
while [ "$i" -lt "$((many / rows))" ]; do
    # The same rows with other words: nothing but the shape recurs.
    sed "s/\([a-z]\) /\1$i /g" "$work/rows"
    i=$((i + 1))
done > "$work/many"
rate "near-duplicates, $many rows of 40 words" "$work/many" 100000
