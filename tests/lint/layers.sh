#!/bin/sh
# Directions of the #include lines, and which file may know which library. Run from the top folder;
# prints FILE:LINE: problem, exits 1 when there is one.
#
#   core/      only core/, in the order base read (text similar stats memory git) store facts checks
#              exports; jobs on base alone; core/model.h stands on base
#   importers/ core/ and importers/
#   views/     core/ and views/
#   tui/       everything but tests/
#   tests/     everything
set -eu

find core importers views tui tests -name '*.[ch]' | sort | xargs awk '
function say(problem) {
    printf "%s:%d: %s\n", FILENAME, FNR, problem
    bad = 1
}

# The place of a path: "core/facts", "importers", "views" …
function room(path,    part) {
    split(path, part, "/")
    if (part[1] != "core")
        return part[1]
    return path ~ /^core\/[^\/]*$/ ? "core/base" : "core/" part[2]
}

function inside_core(from, to) {
    if (!(from in rank))
        return "a folder that the order of core/ does not name"
    if (!(to in rank))
        return "includes " to ", which the order of core/ does not name"
    if (from == to || (from == "core/similar" && to == "core/text"))
        return ""
    if (from == "core/jobs" && to != "core/base")
        return "core/jobs stands on base alone, includes " to
    if (rank[to] >= rank[from])
        return from " includes " to ", which does not stand before it"
    return ""
}

function direction(from, to) {
    if (from == "tests")
        return ""
    if (to == "tests")
        return "the program includes a test"
    if (from ~ /^core/)
        return to ~ /^core/ ? inside_core(from, to) : "core/ includes " to "/"
    if (from == "tui" || to ~ /^core/ || from == to)
        return ""
    return from "/ includes " to "/"
}

function allow(header, files) {
    allowed[header] = " " files " "
}

BEGIN {
    rank["core/base"] = 0; rank["core/jobs"] = 0.5; rank["core/read"] = 1
    rank["core/text"] = rank["core/similar"] = rank["core/stats"] = 2
    rank["core/memory"] = rank["core/git"] = 2
    rank["core/store"] = 3; rank["core/facts"] = 4; rank["core/checks"] = 5
    rank["core/exports"] = 6

    allow("sqlite3.h", "core/store/ core/read/sqlite_file.c")
    allow("cjson/cJSON.h", "core/read/json.c"); allow("cJSON.h", "core/read/json.c")
    allow("yaml.h", "core/read/yaml.c")
    allow("csv.h", "core/read/csv.c")
    allow("zip.h", "core/read/zip.c")
    allow("zlib.h", "core/read/decompress_zlib.c")
    allow("zstd.h", "core/read/decompress_zstd.c")
    allow("lz4.h", "core/read/decompress_lz4.c"); allow("lz4frame.h", "core/read/decompress_lz4.c")
    allow("snappy-c.h", "core/read/decompress_snappy.c")
    allow("brotli/decode.h", "core/read/decompress_brotli.c")
    allow("pcre2.h", "core/base/regex.c core/text/tokenizer/pattern.c")
    allow("utf8proc.h", "core/base/unicode.c core/base/unicode_case.c core/base/unicode_class.c " \
                        "core/base/unicode_map.c core/base/unicode_norm.c")
    allow("xxhash.h", "core/base/hash.c")
    allow("openssl/evp.h", "core/base/sha256.c")
    allow("git2.h", "core/git/objects.c tests/")
    allow("curses.h", "tui/screen_curses.c tui/keys.c"); allow("ncurses.h", "tui/screen_curses.c tui/keys.c")
    allow("term.h", "tui/screen_curses.c tui/keys.c")
    allow("cmocka.h", "tests/"); allow("vterm.h", "tests/"); allow("pty.h", "tests/")

    # The C library and POSIX: everybody may. A header that is in neither list is a new library.
    n = split("assert ctype dirent emmintrin errno fcntl fenv float fnmatch ftw getopt inttypes " \
              "langinfo libgen limits locale math poll pthread sched semaphore setjmp signal stdarg " \
              "stdatomic stdbool stddef stdint stdio stdlib string strings sys/file sys/inotify " \
              "sys/ioctl sys/mman sys/resource sys/socket sys/stat sys/time sys/types sys/un " \
              "sys/wait termios time unistd wchar wctype", word, " ")
    for (i = 1; i <= n; i++)
        standard[word[i] ".h"] = 1
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    path = quoted[2]
    if (path ~ /^\.\.?\// || path !~ /\//) {
        say("include \"" path "\" is not written from the top folder")
        next
    }
    problem = direction(room(FILENAME), room(path))
    if (problem != "")
        say(problem)
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    header = $0
    sub(/^[^<]*</, "", header)
    sub(/>.*/, "", header)
    if (header in standard)
        next
    if (!(header in allowed)) {
        say("<" header "> is neither of the C library nor a library that tests/lint/layers.sh names")
        next
    }
    n = split(allowed[header], place, " ")
    is_fine = FILENAME ~ /^tests\//
    for (i = 1; i <= n && !is_fine; i++)
        is_fine = index(FILENAME, place[i]) == 1 && (FILENAME == place[i] || place[i] ~ /\/$/)
    if (!is_fine)
        say("<" header "> belongs to" allowed[header] "alone")
}

END { exit bad }
' || exit 1
