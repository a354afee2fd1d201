#!/usr/bin/env bash
# Fuzzes targets for a while: PACKAGE for all of a package, PACKAGE:TARGET for one,
# and nothing for all there are. Each package is compiled once for all of its
# targets, which go test would do once for each.
#
#   fuzz.sh 2000x ./internal/git/objects ./internal/git/inflate ./client:FuzzParts
#
# A number of executions, not a time: when a time runs out, the coordinator of
# go test may report its own deadline as the target's failure
# (https://go.dev/issue/75804, mended in Go 1.27). An input that leads to new code is
# made smaller for a thousand executions, not for a minute as by default: of a short
# run that would take nearly all.
#
# With UNGUIDED=1 the targets are compiled as go test compiles tests. The engine then does
# not learn which inputs lead to new code, which a short run hardly does in any case.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

guided=1
[[ ${UNGUIDED:-} != 1 ]] || guided=
budget=${1:-10000x}
shift || true
declare -A wanted # the targets of a package, "" for all
packages=()
for argument in "$@"; do
    package=${argument%%:*}
    [[ -v wanted[$package] ]] || packages+=("$package")
    wanted[$package]+=" $([[ $argument == *:* ]] && echo "${argument#*:}" || true)"
done
((${#packages[@]} > 0)) || mapfile -t packages < <(go list ./...)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cache=$(go env GOCACHE)/fuzz # where go test has what it found before
for package in "${packages[@]}"; do
    read -r path folder < <(go list -f '{{.ImportPath}} {{.Dir}}' "$package")
    # go test -list would compile each package once more.
    targets=$(grep -hoE '^func Fuzz\w+' "$folder"/*_test.go 2> /dev/null | cut -c 6-) || true
    if [[ -z $targets ]]; then
        (($# == 0)) && continue
        echo "no fuzz target was found in $package" >&2
        exit 1
    fi
    chosen=$(xargs <<< "${wanted[$package]:-}")
    for target in ${chosen:-$targets}; do
        if [[ $'\n'$targets$'\n' != *$'\n'$target$'\n'* ]]; then
            echo "$package has no target $target" >&2
            exit 1
        fi
    done
    go test -c ${guided:+-fuzz=.} -o "$work/fuzz.test" "$package"
    for target in ${chosen:-$targets}; do
        echo "--- $target of $path"
        (cd "$folder" && "$work/fuzz.test" -test.run='^$' -test.fuzz="^$target\$" -test.fuzztime="$budget" \
            -test.fuzzminimizetime=1000x -test.fuzzcachedir="$cache/$path" -test.timeout=0)
    done
done
