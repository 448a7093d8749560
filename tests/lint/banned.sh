#!/bin/sh
# Calls that the program does not make. Run from the top folder; prints FILE:LINE: problem, exits 1
# when there is one.
#
#   anywhere                 strcpy strcat sprintf vsprintf strtok atoi atof gets alloca: unbounded
#                            or unchecked; buf_*, snprintf and the parsers of core/base/number.h
#                            instead
#   outside tui/main.c       exit: only the composition root ends the program (_exit is what a forked
#                            child that could not become another program has to call)
#   core importers views     printf, puts, stdout: what has no terminal does not print to one
#
# Comments and texts are taken out first, so that a call has to stand in the code.
set -eu

find core importers views tui tests -name '*.[ch]' | sort | xargs awk '
# The line without texts, characters and comments; `is_inside` is an open /* of earlier lines.
function code_of(line,    out, c, next_two, i, n, quote) {
    n = length(line)
    for (i = 1; i <= n; i++) {
        c = substr(line, i, 1)
        next_two = substr(line, i, 2)
        if (is_inside) {
            if (next_two == "*/") {
                is_inside = 0
                i++
            }
        } else if (quote != "") {
            if (c == "\\")
                i++
            else if (c == quote)
                quote = ""
        } else if (next_two == "/*") {
            is_inside = 1
            i++
        } else if (next_two == "//") {
            break
        } else if (c == "\"" || c == "\047") {
            quote = c
            out = out " "
        } else {
            out = out c
        }
    }
    return out
}

function say(problem) {
    printf "%s:%d: %s\n", FILENAME, FNR, problem
    bad = 1
}

function calls(code, name) {
    return code ~ ("(^|[^A-Za-z0-9_])" name "[ \t]*\\(")
}

BEGIN {
    n_banned = split("strcpy strcat sprintf vsprintf strtok atoi atof gets alloca", banned, " ")
}

FNR == 1 { is_inside = 0 }

# Most lines have no quote, no comment and no call of interest.
!is_inside && !/\/\*/ && !/strcpy|strcat|sprintf|strtok|ato[if]|gets|alloca|exit|printf|puts|stdout/ { next }

{
    code = code_of($0)
    for (i = 1; i <= n_banned; i++)
        if (calls(code, banned[i]) && !(banned[i] == "atof" && FILENAME ~ /^tests\//))
            say(banned[i] " is banned")
    if (FILENAME !~ /^tests\// && FILENAME != "tui/main.c" &&
        (calls(code, "exit") || calls(code, "quick_exit")))
        say("exit outside tui/main.c")
    if (FILENAME ~ /^(core|importers|views)\// &&
        (calls(code, "printf") || calls(code, "vprintf") || calls(code, "puts") ||
         calls(code, "putchar") || code ~ /(^|[^A-Za-z0-9_])stdout([^A-Za-z0-9_]|$)/))
        say("prints to standard output, which belongs to tui/")
}

END { exit bad }
' || exit 1
