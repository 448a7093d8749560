# What the parts of `make bench` share: lines of the table, and the peers from Python. Sourced by each.

row() {             # what ours theirs ratio budget met
    printf '%-52s %12s %12s %9s %10s  %s\n' "$@"
}
skip() {            # what why
    row "$1" - - - - "skipped: $2"
}
met() {             # value bound: ok when value >= bound
    awk -v a="$1" -v b="$2" 'BEGIN { print ((a >= b) ? "ok" : "MISSED") }'
}
within() {
    awk -v a="$1" -v b="$2" 'BEGIN { print ((a <= b) ? "ok" : "MISSED") }'
}
ratio() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", ((a + 0 > 0) ? b / a : 0) }'
}

# Sets $python to an interpreter that has the peers, in a venv in that folder unless PEERS names one
# already ("none": pip could not bring them).
bring_peers() {     # folder
    HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false TRANSFORMERS_VERBOSITY=critical
    export HF_HUB_OFFLINE TOKENIZERS_PARALLELISM TRANSFORMERS_VERBOSITY
    if [ -z "${PEERS:-}" ]; then
        PEERS=$1/venv/bin/python
        { python3 -m venv "$1/venv" && "$PEERS" -m pip install -q --disable-pip-version-check \
            tokenizers tiktoken transformers jinja2 minijinja; } > "$1/pip.out" 2>&1 || PEERS=none
    fi
    python=$PEERS
    [ "$PEERS" != none ]
}
