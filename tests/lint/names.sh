#!/bin/sh
# The tree explains itself by its names. Run from the top folder; prints FILE:LINE: problem, exits 1
# when there is one.
#
#   top level      tui core views importers tests themes Makefile README.md and the hidden or legal
#                  files, nothing else (what .gitignore names does not count)
#   check folders  exactly the files of the registry, each named by its id with '-' as '_'
#   views          each pane of the registry is views/<id>.c; each importer is
#                  importers/<kind>/<id>.c
#   files          no utils, misc, common, helpers; at most 600 lines; at most 110 columns a line
#   unit tests     named test_*.c
set -eu
LC_ALL=C
export LC_ALL
problems=$(mktemp)
trap 'rm -f "$problems"' EXIT

say() {
    echo "$1:${3:-1}: $2" >> "$problems"
}

# Names in the X(...) list of a registry header.
registered() {
    sed -n 's/^ *X(\([a-z0-9_]*\)).*/\1/p' "$1"
}

# ---- top level ----
wanted="tui core views importers tests themes Makefile README.md .ci LICENSE .gitignore .clang-format"
for name in $wanted; do
    [ -e "$name" ] || say "$name" "missing at the top"
done
for name in $(ls -A); do
    case " $wanted .git " in *" $name "*) continue ;; esac
    if ! grep -qxF -e "$name" -e "/$name" -e "/$name/" .gitignore; then
        say "$name" "does not belong at the top"
    fi
done

# ---- registries ----
for name in $(registered core/checks/registry.h); do
    found=$(find core/checks -mindepth 2 -name "$name.c")
    id=$(echo "$name" | tr _ -)
    if [ -z "$found" ]; then
        say core/checks/registry.h "no file $name.c in a folder of a stage"
    elif ! grep -q "^ *\.id *= *\"$id\"," "$found"; then
        say "$found" "expected .id = \"$id\", the name of the file"
    elif ! grep -q "^const struct check check_$name = {" "$found"; then
        say "$found" "expected const struct check check_$name"
    fi
done
checks=" $(registered core/checks/registry.h | tr '\n' ' ')"
find core/checks -mindepth 2 -type f | sort > "$problems.files"
while read -r file; do
    name=$(basename "$file" .c)
    case "$file:$checks" in
    *.c:*" $name "*) ;;
    *) say "$file" "is no check of the registry; nothing else stands in these folders" ;;
    esac
done < "$problems.files"
for name in $(registered importers/registry.h); do
    found=$(find importers -mindepth 2 -name "$name.c")
    if [ -z "$found" ]; then
        say importers/registry.h "no file $name.c below importers/"
    elif ! grep -q "^ *\.id *= *\"$name\"," "$found"; then
        say "$found" "expected .id = \"$name\", the name of the file"
    fi
done
for name in $(registered views/registry.h); do
    if [ ! -f "views/$name.c" ]; then
        say views/registry.h "no file views/$name.c"
    elif ! grep -q "^ *\.id *= *\"$name\"," "views/$name.c"; then
        say "views/$name.c" "expected .id = \"$name\", the name of the file"
    fi
done

# ---- files ----
find core importers views tui tests themes -type f | sort > "$problems.files"
grep -E '/(utils?|misc|common|helpers?)(\.[a-z]+|/)' "$problems.files" > "$problems.named" || :
while read -r file; do
    say "$file" "the name says nothing: what would a newcomer look for"
done < "$problems.named"
find tests/unit -maxdepth 1 -name '*.c' ! -name 'test_*.c' > "$problems.named"
while read -r file; do
    say "$file" "a unit test is named test_<module>.c"
done < "$problems.named"
grep '\.[ch]$' "$problems.files" | xargs awk '
function close_file() {
    if (n > 600)
        printf "%s:601: %d lines, at most 600: split it by concept\n", file, n
}
FNR == 1 { close_file(); file = FILENAME }
{
    n = FNR
    if (length($0) > 110) {
        gsub(/[\200-\277]/, "")
        if (length($0) > 110)
            printf "%s:%d: %d columns, at most 110\n", FILENAME, FNR, length($0)
    }
}
END { close_file() }
' >> "$problems"

rm -f "$problems.files" "$problems.named"
cat "$problems"
[ ! -s "$problems" ]
