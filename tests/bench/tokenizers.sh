#!/bin/sh
# Tokenising beside the tokenizers library and tiktoken, in one run: part of `make bench`.
#   B=build/release sh tests/bench/tokenizers.sh [FOLDER]
# FOLDER holds tokenizer.json files (NAME.json or NAME/tokenizer.json) to be measured too; without
# one, three are trained on the text. The text is this project's own files, or TEXT.
set -eu
B=${B:-build/release}
LC_ALL=C
export LC_ALL
. tests/bench/frame.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
bench=$B/tests/bench/bench_tokenizer
if ! bring_peers "$work"; then
    skip "tokenising / tokenizers, tiktoken" "pip cannot bring the peers"
    exit 0
fi

if [ -n "${TEXT:-}" ]; then
    cp "$TEXT" "$work/text"
else
    find core importers views tui tests -type f \( -name '*.[ch]' -o -name '*.md' -o -name '*.log' \
        -o -name '*.json' \) -size -200k -exec cat {} + | iconv -f utf-8 -t utf-8 -c | \
        tr -d '\r' | head -c 6000000 | iconv -f utf-8 -t utf-8 -c > "$work/text"
fi

compare() {         # what, file, bound
    "$bench" "$2" - "$work/text" "$work/ours.ids" > "$work/ours" || { row "$1" - - - - FAILED; return; }
    theirs=$("$python" tests/bench/tokenizer_peers.py time "$2" "$work/text" "$work/theirs.ids")
    same=$(cmp -s "$work/ours.ids" "$work/theirs.ids" && echo ok || echo "OTHER IDS")
    awk -v t="$theirs" -v b="$3" -v w="$1" -v s="$same" '{ r = t / ($2 > 0 ? $2 : 0.001)
        printf "%-52s %8.1f MB/s %7.1f MB/s %7.2f x %8s x  %s\n", w, $3 / $2 / 1e6, $3 / t / 1e6,
               r, ">= " b, s != "ok" ? s : (r >= b ? "ok" : "MISSED") }' "$work/ours"
}
bound_of() {        # file: by its model
    if grep -qE '"type": ?"(Unigram|WordPiece)"' "$1"; then echo 2; else echo 4; fi
}

"$python" tests/bench/tokenizer_peers.py make "$work/text" "$work"
for name in bpe unigram wordpiece; do
    compare "tokenising, $name / tokenizers" "$work/$name.json" "$(bound_of "$work/$name.json")"
done
theirs=$("$python" tests/bench/tokenizer_peers.py tiktoken "$work/bpe.json" "$work/text")
"$bench" "$work/bpe.json" - "$work/text" | awk -v t="$theirs" '{
    printf "%-52s %8.1f MB/s %7.1f MB/s %7.2f x\n", "tokenising, bpe / tiktoken", $3 / $2 / 1e6,
           $3 / t / 1e6, t / $2 }'
for file in ${1:+"$1"/*.json "$1"/*/tokenizer.json}; do
    [ -f "$file" ] && compare "tokenising, ${file#"$1"/} / tokenizers" "$file" "$(bound_of "$file")"
done

head -n 40 "$work/text" > "$work/short"
load() {            # what, cache folder, bound in ms
    least=
    for i in 1 2 3 4 5; do
        ms=$("$bench" "$work/large.json" "$2" "$work/short" | cut -d' ' -f1)
        least=$(printf '%s\n%s\n' "${least:-$ms}" "$ms" | sort -n | head -n 1)
    done
    row "$1" "$least ms" "" "" "<= $3 ms" \
        "$(awk -v a="$least" -v b="$3" 'BEGIN { print ((a <= b) ? "ok" : "MISSED") }')"
}
load "load of 150,000 tokens" - 150
load "the same from the cache" "$work/cache" 20
