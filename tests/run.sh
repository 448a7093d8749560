#!/bin/sh
# Runs test suites and ends with one line "N passed, N failed" over everything.
#   B=build/release sh tests/run.sh quick|terminal|fault|fuzz …
# A unit program is tests/unit/test_*.c (cmocka). By name: test_fault_* belong to `fault`,
# test_terminal_* to `terminal`, test_fuzz_* to quick and fuzz, the rest to quick.
# A shell runner is tests/<kind>/run.sh; it ends with its own "N passed, N failed".
set -u
B=${B:-build/release}
. tests/harness/env.sh
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

jobs=$(nproc 2> /dev/null || echo 1)

# The programs need nothing of each other: as many at once as there are processors.
unit() {
    results=$(mktemp -d)
    for program in "$B"/tests/unit/$1; do
        [ -x "$program" ] || continue
        case "$program" in *.o | *.d) continue ;; esac
        case "$2:$(basename "$program")" in quick:test_fault_* | quick:test_terminal_*) continue ;; esac
        echo "$program"
    done | xargs -P "$jobs" -I '{}' sh -c '
        name=$2/$(basename "$1")
        if "$1" > "$name.log" 2>&1; then echo ok; else echo FAILED; fi > "$name.status"' sh '{}' "$results"
    for file in "$results"/*.status; do
        [ -f "$file" ] || continue
        status=$(cat "$file")
        out=${file%.status}.log
        good=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$out" | awk '{s += $1} END {print s + 0}')
        bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$out" | awk '{s += $1} END {print s + 0}')
        if [ "$status" = FAILED ] && [ "$bad" = 0 ]; then bad=1; fi
        passed=$((passed + good))
        failed=$((failed + bad))
        if [ "$status" = FAILED ]; then
            cat "$out"
            echo "$(basename "$file" .status): FAILED"
        fi
    done
    rm -rf "$results"
}

runner() {
    [ -f "$1" ] || return 0
    if B="$B" sh "$1" > "$log" 2>&1; then status=ok; else status=FAILED; fi
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    if [ -n "$line" ]; then
        passed=$((passed + $(echo "$line" | cut -d' ' -f1)))
        bad=$(echo "$line" | cut -d' ' -f3)
    else
        bad=0
    fi
    if [ "$status" = FAILED ] && [ "$bad" = 0 ]; then bad=1; fi
    failed=$((failed + bad))
    if [ "$status" = FAILED ]; then
        cat "$log"
        echo "$1: FAILED"
    fi
}

for suite in "$@"; do
    case "$suite" in
    quick)
        unit 'test_*' quick
        for kind in importers checks runs screen; do runner tests/$kind/run.sh; done
        ;;
    terminal)
        unit 'test_terminal_*' terminal
        runner tests/terminal/run.sh
        ;;
    fault)
        unit 'test_fault_*' fault
        runner tests/fault/run.sh
        ;;
    fuzz) unit 'test_fuzz_*' fuzz ;;
    *)
        echo "tests/run.sh: unknown suite $suite" >&2
        exit 2
        ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
