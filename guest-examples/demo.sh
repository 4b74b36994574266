#!/bin/sh
# A gene that remembers: one run is told a preference, the next one is not and has it.
# Works in a folder of its own and removes it; KEEP=1 keeps it.
set -eu

genes=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
if [ "${KEEP:-0}" = 1 ]; then
    trap 'echo; echo "kept: $folder/demo"' EXIT
else
    trap 'rm -rf "$folder"' EXIT
fi
trap 'exit 130' INT TERM

say() { printf '\n# %s\n' "$1"; }

run() { # show a command as it could be typed, then run it
    printf '$'
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9_./=-]*) printf " '%s'" "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$@"
}

say 'A project, with the formatter gene in it'
run cd "$folder"
run rotifer init demo
run cd demo
run cp -R "$genes/formatter" genes/
run rotifer compile formatter

say 'An agent made of this one gene'
run rotifer agent create tidy --genes formatter

say 'The first run is told: indent by 4'
run rotifer agent run tidy --input '{"code": "if x:\n\tgo()", "indent": 4}'

say 'The second run is told nothing'
run rotifer agent run tidy --input '{"code": "while y:\n  if z:\n    stop()"}' >"$folder/second"
cat "$folder/second"

say 'What the agent remembers, and what was recorded'
run rotifer agent memory list tidy
run cat .rotifer/audit.jsonl

if grep -qF '"indent": 4' "$folder/second"; then
    say 'The second run used the 4 it was not told.'
else
    printf '\nthe second run did not use the remembered indent\n' >&2
    exit 1
fi
