#!/usr/bin/env bash
# Fuzzes every target of the packages, by default of all, for a while; go test
# takes only one target of one package at a time.
#
#   fuzz.sh 2000x ./internal/objects ./internal/inflate
#
# A number of executions, not a time: when a time runs out, the coordinator of
# go test may report its own deadline as the target's failure
# (https://go.dev/issue/75804, mended in Go 1.27).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

budget=${1:-10000x}
shift || true
folders=$(go list -f '{{.Dir}}' "${@:-./...}")
for folder in $folders; do
    # go test -list would compile each package once more.
    targets=$(grep -hoE '^func Fuzz\w+' "$folder"/*_test.go 2> /dev/null | cut -c 6-) || true
    if [[ -z $targets && $# -gt 0 ]]; then
        echo "no fuzz target was found in $folder" >&2
        exit 1
    fi
    for target in $targets; do
        go test -run '^$' -fuzz "^$target\$" -fuzztime "$budget" "$folder"
    done
done
