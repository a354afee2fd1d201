#!/bin/sh
# Makes the folders beside it: the tables of a repository, and in refs.txt what git lists. It needs a git that
# writes reftables (2.45 or later); those here are of 2.55.0. Objects are those of gittest.RefTables.
set -e
cd "$(dirname "$0")"
here=$PWD repo=$(mktemp -d)
export GIT_CONFIG_NOSYSTEM=1 HOME="$repo" GIT_TEST_REFTABLE_AUTOCOMPACTION=false
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_AUTHOR_DATE='1700000000 +0000'
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_COMMITTER_DATE='1700000000 +0000'

new() {
    rm -rf "$repo/r.git"
    git init -q --bare --ref-format=reftable -b main "$@" "$repo/r.git"
    cd "$repo/r.git"
    git config core.logAllRefUpdates true
    one=$(git commit-tree -m one "$(git mktree < /dev/null)")
    two=$(git commit-tree -m two -p "$one" "$(git mktree < /dev/null)")
}

save() {
    rm -rf "${here:?}/$1"
    mkdir "$here/$1"
    cp reftable/* "$here/$1"
    git for-each-ref --include-root-refs --format='%(refname) %(objectname) %(*objectname) %(symref)' > "$here/$1/refs.txt"
}

new
save empty

new
git update-ref refs/heads/main "$one"
git update-ref refs/heads/topic/x "$two"
git tag -a -m one v1 "$one"
git tag v2 "$two"
git symbolic-ref refs/heads/alias refs/heads/main
git pack-refs
save small

# Tables that change and delete what is in earlier ones, and a detached HEAD.
new
for i in 1 2 3 4 5 6; do git update-ref "refs/heads/b$i" "$one"; done
git update-ref -d refs/heads/b2
git update-ref refs/heads/b3 "$two"
git update-ref -d refs/heads/b4
git update-ref refs/heads/b4 "$two"
git update-ref -d refs/heads/b6
git update-ref --no-deref HEAD "$two"
save stack

# Several blocks without an index, and then indexes of indexes and of objects, with logs behind.
new
for i in $(seq 1 300); do
    echo "create refs/pull/$((i * 7919 % 1009))/head $([ $((i % 3)) = 0 ] && echo "$one" || echo "$two")"
    [ "$i" != 60 ] || echo "create refs/heads/main $one"
done > ../updates
git config reftable.blockSize 1024
head -61 ../updates | git update-ref --stdin
git tag -a -m one v1 "$one"
git pack-refs
save blocks
git config reftable.blockSize 256
git config reftable.restartInterval 4
tail -n +62 ../updates | git update-ref --stdin
git pack-refs
save index

new --object-format=sha256
git update-ref refs/heads/main "$one"
git pack-refs
save sha256
rm -rf "$repo"
