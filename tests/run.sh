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

unit() {
    for program in "$B"/tests/unit/$1; do
        [ -x "$program" ] || continue
        case "$program" in *.o | *.d) continue ;; esac
        name=$(basename "$program")
        case "$2:$name" in quick:test_fault_* | quick:test_terminal_*) continue ;; esac
        if "$program" > "$log" 2>&1; then status=ok; else status=FAILED; fi
        good=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | awk '{s += $1} END {print s + 0}')
        bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log" | awk '{s += $1} END {print s + 0}')
        if [ "$status" = FAILED ] && [ "$bad" = 0 ]; then bad=1; fi
        passed=$((passed + good))
        failed=$((failed + bad))
        if [ "$status" = FAILED ]; then
            cat "$log"
            echo "$name: FAILED"
        fi
    done
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
