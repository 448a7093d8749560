#!/bin/sh
# Opens the broken run that ships with the project; without a terminal prints its checklist. Exits 0
# either way: that findings are there is the point of the demo.
set -u
run=tests/demo/qwen-sft-07
program=${B:-build/release}/flatline
if [ -t 0 ] && [ -t 1 ] && [ -n "${TERM:-}" ] && [ "$TERM" != dumb ]; then
    "$program" "$run"
else
    "$program" check --no-cache "$run"
fi
status=$?
# 1: findings, as it should be
[ "$status" -le 1 ]
