#!/bin/sh
# The modest part of a layout that no one disputes: no tabs in C, no blanks at the end of a line, a
# newline at the end of the file and not two. Run from the top folder; prints FILE:LINE: problem,
# exits 1 when there is one. (clang-format and its file here differ about aligned tables and broken
# argument lists; `make format` is a tool, not a judge.)
set -eu
LC_ALL=C
export LC_ALL
list=$(mktemp)
trap 'rm -f "$list" "$list.lines"' EXIT
bad=0

{
    find core importers views tui tests/harness tests/unit tests/bench -name '*.[ch]'
    find core importers views tui tests -name '*.sh'
    find core importers views tui themes tests -maxdepth 1 -name '*.md'
    find themes -name '*.theme'
    echo Makefile
} | sort > "$list"

xargs awk '
function say(line, problem) {
    printf "%s:%d: %s\n", file, line, problem
    bad = 1
}
function close_file() {
    if (file != "" && last == "" && n > 0)
        say(n, "blank line at the end of the file")
}
FNR == 1 { close_file(); file = FILENAME }
{ n = FNR; last = $0 }
/\r$/ { say(FNR, "carriage return at the end of the line"); next }
/[ \t]$/ { say(FNR, "blanks at the end of the line") }
/\t/ && FILENAME ~ /\.[ch]$/ { say(FNR, "tab in C source") }
END { close_file(); exit bad }
' < "$list" || bad=1

# grep counts a last line without its newline, wc does not.
xargs grep -c '' < "$list" > "$list.lines" || :
xargs wc -l < "$list" | awk '
FILENAME != "-" { lines[$1] = $2; next }
$2 != "total" && $2 in lines && lines[$2] != $1 {
    printf "%s:%d: no newline at the end of the file\n", $2, lines[$2]
    bad = 1
}
END { exit bad }
' FS=: "$list.lines" FS=' ' - || bad=1
exit $bad
