#!/usr/bin/env bash
# What the program says of its version, built in each way that people build it:
# "go install" of a tagged version, "go build" in a clone, and what the Makefile and
# the releases tell the linker. No network: the module comes from a folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=v1.2.3
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOFLAGS=-trimpath
unset GOBIN

# expect LINE PROGRAM fails unless the program says its version in that line.
expect() {
    local said
    said=$("$2" version)
    grep -qxF -- "$1" <<< "$said" || {
        printf 'version: expected %q, and %s says:\n%s\n' "$1" "$2" "$said" >&2
        exit 1
    }
    echo "${2##*/}: $1"
}

# A clone of what is committed, with a tag.
git clone -q . "$work/clone"
git -C "$work/clone" -c user.name=ci -c user.email=ci@localhost tag -f "$version" > /dev/null
commit=$(git -C "$work/clone" rev-parse HEAD)
(cd "$work/clone" && go build -o "$work/cloned" ./cmd/repomcp)
expect "repomcp $version" "$work/cloned"
expect "commit $commit" "$work/cloned"

(cd "$work/clone" && go build -buildvcs=false -ldflags "-X main.release=v9.8.7" -o "$work/released" ./cmd/repomcp)
expect "repomcp v9.8.7" "$work/released"

# A module proxy is a folder of archives.
module=github.com/repomcp/repomcp
proxy=$work/proxy/$module/@v
mkdir -p "$proxy"
git -C "$work/clone" archive --format=zip --prefix="$module@$version/" -o "$proxy/$version.zip" HEAD
git -C "$work/clone" show HEAD:go.mod > "$proxy/$version.mod"
printf '{"Version":"%s","Time":"2026-01-01T00:00:00Z"}' "$version" > "$proxy/$version.info"
echo "$version" > "$proxy/list"
# The other modules are there: the builds above read them.
cache=$(go env GOMODCACHE)
(cd "$work" && GOMODCACHE=$work/modules GOBIN=$work/bin GOSUMDB=off GOFLAGS="-trimpath -modcacherw" \
    GOPROXY="file://$work/proxy,file://$cache/cache/download" \
    go install "$module/cmd/repomcp@$version" 2> "$work/log") || { tail "$work/log" >&2; exit 1; }
expect "repomcp $version" "$work/bin/repomcp"
