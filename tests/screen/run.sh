#!/bin/sh
# Screens: each *.keys is played by `flatline --script` on the small runs of data/, and what it shows is
# compared with *.screen. GOLDEN=accept writes the goldens anew.
#   # args: ARGUMENTS      of flatline (may be quoted as in a shell)
#   # env: NAME=VALUE …    for this script
#   # before: ARGUMENTS    a flatline call that goes first, in the same home
#   # config: LINE         of the configuration file
# The working folder is a private copy of data/, so that no path of the machine is seen.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../harness/env.sh"
B=${B:-build/release}
program=$(cd "$B" && pwd)/flatline
work=$(mktemp -d)
trap 'rm -rf "$work" "$FLATLINE_TEST_HOME"' EXIT
passed=0
failed=0

headers() {
    sed -n "s/^# $1: *//p" "$2"
}

play() {
    keys=$1
    home=$work/home
    rm -rf "$home" "$work/data"
    mkdir -p "$home/config/flatline"
    cp -R "$here/data" "$work/data"
    mkdir "$work/data/empty"
    headers config "$keys" > "$home/config/flatline/config"
    (
        cd "$work/data" || exit 2
        export HOME="$home" XDG_CONFIG_HOME="$home/config" XDG_CACHE_HOME="$home/cache" XDG_STATE_HOME="$home/state"
        headers before "$keys" | while read -r line; do
            eval "\"$program\" $line" > /dev/null 2>&1
        done
        eval "env $(headers env "$keys" | tr '\n' ' ') \"$program\" --script \"$keys\" $(headers args "$keys")" 2>&1
        echo "exit $?"
    )
}

for keys in "$here"/${1:-*}.keys; do
    golden=${keys%.keys}.screen
    play "$keys" > "$work/shown"
    if [ "${GOLDEN:-}" = accept ]; then cp "$work/shown" "$golden"; fi
    if cmp -s "$work/shown" "$golden"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$(basename "$keys"): the screens differ"
        diff -u "$golden" "$work/shown" | head -n 60
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
