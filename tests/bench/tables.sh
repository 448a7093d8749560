#!/bin/sh
# Reading the columns needed of Parquet and Arrow beside pyarrow with one thread: part of `make bench`.
#   B=build/release sh tests/bench/tables.sh
# Numbers and token ids end as columns in memory on both sides; of chats and texts ours ends with a JSON
# object for each row, theirs with columns in memory. TABLE_PEERS names a python
# that has pyarrow; without one a venv is made and removed.
set -eu
B=${B:-build/release}
LC_ALL=C
export LC_ALL
. tests/bench/frame.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/flatline-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

python=${TABLE_PEERS:-$work/venv/bin/python}
if [ -z "${TABLE_PEERS:-}" ] && ! { python3 -m venv "$work/venv" && \
        "$python" -m pip install -q --disable-pip-version-check pyarrow numpy; } > "$work/out" 2>&1; then
    skip "tables / pyarrow" "pip cannot bring it"
    exit 0
fi
"$python" tests/bench/tables_peers.py make "$work"

least() {           # read|columns, file, columns: of five, seconds of processor time
    for i in 1 2 3 4 5; do
        "$B/tests/bench/bench_table" "$@" | cut -d' ' -f2
    done | sort -n | head -n 1
}
compare() {         # what, read|columns, file, columns
    what=$1 way=$2 file=$work/$3
    shift 3
    ours=$(least "$way" "$file" "$@")
    theirs=$("$python" tests/bench/tables_peers.py time "$file" "$@")
    r=$(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.2f", a / (b > 0 ? b : 0.0001) }')
    row "$what" "$ours s" "$theirs s" "$r x" "<= 2 x" "$(within "$r" 2)"
}
compare "Parquet, chats / pyarrow" read chat.parquet messages
compare "Parquet, a column of texts / pyarrow" read chat.parquet extra
compare "Parquet, step and loss / pyarrow" columns metrics.parquet step loss
compare "Parquet, token ids / pyarrow" columns ids.parquet input_ids
compare "Arrow packed with zstd, chats / pyarrow" read chat.arrow messages
compare "Arrow packed with zstd, step and loss / pyarrow" columns metrics.arrow step loss
compare "Arrow packed with zstd, token ids / pyarrow" columns ids.arrow input_ids
