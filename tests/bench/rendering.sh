#!/bin/sh
# Rendering chat templates beside jinja2, as transformers sets it up, and minijinja: part of `make bench`.
#   B=build/release [TEMPLATES=FOLDER] sh tests/bench/rendering.sh
# The templates are those of the tests; TEMPLATES names a folder of more (*.jinja). Processor time per
# render of six messages, all programs on the same request; a program that refuses a template is left
# out of its median.
set -eu
B=${B:-build/release}
LC_ALL=C TZ=UTC
export LC_ALL TZ
. tests/bench/frame.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
if ! bring_peers "$work"; then
    skip "rendering / jinja2, minijinja" "pip cannot bring the peers"
    exit 0
fi
mkdir "$work/texts"

# Each text once: the folders of tests repeat some.
find tests/engines tests/checks ${TEMPLATES:+"$TEMPLATES"} -name '*.jinja' -type f | sort | while IFS= read -r file; do
    printf '%s\t%s\n' "$(cksum < "$file")" "$file"
done | awk -F '\t' '!seen[$1]++ { print $2 }' > "$work/list"
"$python" tests/bench/render_peers.py requests > "$work/requests"
tr '\n' '\0' < "$work/list" | xargs -0 "$B/tests/bench/bench_render" "$work/requests" 20 \
    "$work/texts" > "$work/ours"
"$python" tests/bench/render_peers.py time "$work/requests" 20 "$work/ours" "$work/texts" \
    > "$work/both"
eval "$("$python" tests/bench/render_peers.py sum "$work/both")"

row "rendering, $jinja2_n templates / jinja2" "$jinja2_ours /s" "$jinja2_theirs /s" \
    "$jinja2_ratio x" ">= 3.5 x" "$(met "$jinja2_ratio" 3.5)"
row "rendering, $minijinja_n templates / minijinja" "$minijinja_ours /s" "$minijinja_theirs /s" \
    "$minijinja_ratio x" ">= 1 x" "$(met "$minijinja_ratio" 1)"
row "rendering, texts that are not those of jinja2" "$different" "" "" "<= 0" \
    "$(within "$different" 0)"
row "compiling a template, the slowest of $templates" \
    "$(awk -v us="$compile_most_us" 'BEGIN { printf "%.2f ms", us / 1000 }')" "" "" "<= 1 ms" \
    "$(within "$compile_most_us" 1000)"
