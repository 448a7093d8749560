#!/bin/sh
# Every header compiles alone, twice in a row, and guards itself by its path: core/base/str.h by
# CORE_BASE_STR_H. Run from the top folder; prints FILE:LINE: problem, exits 1 when there is one.
set -eu
CC=${CC:-cc}
headers=$(find core importers views tui tests -name '*.h' | sort)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0

for header in $headers; do
    guard=$(echo "$header" | tr 'a-z/.' 'A-Z__')
    line=$(grep -n '^#ifndef ' "$header" | head -n 1)
    if [ "${line#*:}" != "#ifndef $guard" ]; then
        number=${line%%:*}
        echo "$header:${number:-1}: expected the guard #ifndef $guard"
        failed=1
    fi
done

flags="-std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64"
n=0
for header in $headers; do
    n=$((n + 1))
    printf '#include "%s"\n#include "%s"\nextern int lint_is_no_empty_file;\n' "$header" "$header" \
        > "$made/$n.c"
done
# shellcheck disable=SC2086
if ! $CC $flags "$made"/*.c > "$made/all" 2>&1; then
    failed=1
    sed -n 's|^\./||; s|^\([^ :]*\.h:[0-9]*\):[0-9]*: \(.*error\): |\1: \2: |p' "$made/all" | sort -u
fi
exit $failed
