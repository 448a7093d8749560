#!/bin/sh
# The audit of a data set: rows of chat rendered, tokenised, masked and counted, beside the same work by
# transformers' Python, and the memory of many rows beside that of few. Part of `make bench`.
#   B=build/release [TOKENIZER=FOLDER] sh tests/bench/audit.sh
# ROWS and MANY are numbers of rows; TOKENIZER a folder with tokenizer.json instead of the small one of the
# tests. Processor time of all threads, so that it is the work of one core on either side.
set -eu
B=${B:-build/release}
case "$B" in /*) ;; *) B=$(pwd)/$B ;; esac
rows=${AUDIT_ROWS:-100000}
many=${AUDIT_MANY:-200000}
few=$((many / 20))
peer_rows=$((rows / 20))
max_length=1024
LC_ALL=C
export LC_ALL
. tests/bench/frame.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
HOME=$work XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config
export HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME
small=tests/engines/labels/tokenizer-chatml
flatline=$B/flatline

make_run() {        # folder rows
    mkdir "$1"
    awk -v ROWS="$2" -f tests/bench/chat_rows.awk > "$1/train.jsonl"
    cp "${TOKENIZER:-$small}/tokenizer.json" "$small/tokenizer_config.json" "$1"
    cp "$small/generation.jinja" "$1/chat_template.jinja"
    printf '{"assistant_only_loss": true, "max_length": %s, "learning_rate": 0.0002}\n' \
        "$max_length" > "$1/train_config.json"
    printf 'trl==1.16.0\n' > "$1/requirements.txt"
}
cost() {            # rounds, command: processor seconds and MiB
    "$B/tests/bench/bench_versus" "$1" "$2"
}
counts() {          # database, folder: tokens and supervised ones
    "$flatline" labels --db "$1" "$2" | awk '
        $1 == "tokens" && !n { n = $2 } $1 == "supervised" && !m { m = $2 } END { print n, m }'
}
per_second() {      # rows, seconds
    awk -v n="$1" -v s="$2" 'BEGIN { printf "%.0f", ((s > 0) ? n / s : 0) }'
}

make_run "$work/run" "$rows"
whole=$(cost 2 "rm -f $work/a.db*; exec $flatline check --db $work/a.db $work/run")
rm -f "$work/b.db"*
"$flatline" import --db "$work/b.db" "$work/run" > "$work/out"
alone=$(cost 2 "rm -f $work/c.db*; cp $work/b.db $work/c.db; exec $flatline check --db $work/c.db $work/run")
again=$(cost 3 "exec $flatline check --db $work/a.db $work/run")
whole_rate=$(per_second "$rows" "${whole% *}")
alone_rate=$(per_second "$rows" "${alone% *}")

if bring_peers "$work"; then
    make_run "$work/part" "$peer_rows"
    "$flatline" check --db "$work/d.db" "$work/part" > "$work/out" || [ $? -eq 1 ]
    set -- $("$python" tests/bench/audit_peers.py "$work/part" "$peer_rows" "$max_length")
    theirs=$(per_second "$peer_rows" "$1")
    same=$([ "$(counts "$work/d.db" "$work/part")" = "$2 $3" ] && echo ok || echo "OTHER COUNTS")
    r=$(ratio "$theirs" "$whole_rate")
    row "import and audit of $rows rows / transformers" "$whole_rate /s" "$theirs /s" "$r x" \
        ">= 10 x" "$([ "$same" = ok ] && met "$r" 10 || echo "$same")"
    r=$(ratio "$theirs" "$alone_rate")
    row "the audit alone / transformers" "$alone_rate /s" "$theirs /s" "$r x" "" ""
else
    skip "import and audit of $rows rows / transformers" "pip cannot bring the peers"
    row "import and audit of $rows rows" "$whole_rate /s" "" "" "" ""
    row "the audit alone" "$alone_rate /s" "" "" "" ""
fi
ms=$(awk -v s="${again% *}" 'BEGIN { printf "%.0f", s * 1000 }')
row "the same files again" "$ms ms" "" "" "<= 100 ms" "$(within "$ms" 100)"

# What is kept of a row are its six numbers, and the checks hold them beside the importer's.
rm -rf "$work/run"
make_run "$work/few" "$few"
make_run "$work/many" "$many"
less=$(cost 1 "exec $flatline check --db $work/few.db $work/few")
more=$(cost 1 "exec $flatline check --db $work/many.db $work/many")
row "memory: check of $few rows" "${less#* } MiB" "" "" "" ""
bytes=$(awk -v a="${less#* }" -v b="${more#* }" -v n="$((many - few))" \
    'BEGIN { printf "%.0f", (b - a) * 1048576 / n }')
row "memory: check of $many rows" "${more#* } MiB" "" "" "<= 96 MiB" "$(within "${more#* }" 96)"
row "memory: each row more" "$bytes B" "" "" "<= 160 B" "$(within "$bytes" 160)"
