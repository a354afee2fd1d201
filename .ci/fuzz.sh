#!/usr/bin/env bash
# Fuzzes every target of the module for a while; go test takes only one target
# of one package at a time.
#
#   fuzz.sh 10000x
#
# A number of executions, not a time: when a time runs out, the coordinator of
# go test may report its own deadline as the target's failure
# (https://go.dev/issue/75804, mended in Go 1.27).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

budget=${1:-10000x}
found=0
packages=$(go list ./...)
for package in $packages; do
    listed=$(go test -list '^Fuzz' "$package")
    for target in $listed; do
        [[ $target == Fuzz* ]] || continue # go test also prints a line about the package
        found=$((found + 1))
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$budget" "$package"
    done
done
if ((found == 0)); then
    echo "no fuzz target was found" >&2
    exit 1
fi
