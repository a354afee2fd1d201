#!/bin/sh
# Makes one of the benchmark's repositories: corpora.sh KEY DIR [quick]
# The same generator of numbers everywhere: all machines measure the same repositories.
set -eu
key=$1 dir=$2 quick=${3-}
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null LC_ALL=C
src=$(go env GOROOT)/src

if [ -n "$quick" ]; then
    tree='archive encoding go net' small=encoding commits=30 files=3000 large=33554432
else
    tree=. small='archive net text' commits=500 files=100000 large=1073741824
fi

# import feeds git-fast-import(1) from standard input; always a pack, however small.
import() {
    git init --quiet --bare --initial-branch=main --template= "$dir"
    git -C "$dir" -c fastimport.unpackLimit=0 fast-import --quiet --done
}

# random is an awk function: a Lehmer generator, exact in a double.
random='function random(n) { state = state * 16807 % 2147483647; return int(state / 2147483647 * n) }'

# go_tree FOLDERS COMMITS imports Go's sources, and commits over them that each
# put lines into twenty files.
go_tree() {
    work=$(mktemp -d)
    (cd "$src" && find $1 -type f | sed 's|^\./||' | sort) > "$work/list"
    {
        printf 'commit refs/heads/main\ncommitter A U Thor <a@example.com> 1700000000 +0000\ndata 4\ntree\n'
        while read -r name; do
            printf 'M 100644 inline %s\ndata %d\n' "$name" "$(wc -c < "$src/$name")"
            cat "$src/$name"
            echo
        done < "$work/list"
        awk -v commits="$2" -v src="$src" "$random"'
            { names[NR - 1] = $0 }
            function load(at,   line) {
                if (at in text) return
                while ((getline line < (src "/" names[at])) > 0) text[at] = text[at] line "\n"
                close(src "/" names[at])
            }
            END {
                state = 4
                for (c = 1; c <= commits; c++) {
                    printf "commit refs/heads/main\ncommitter A U Thor <a@example.com> %d +0000\ndata 4\nedit\n", 1700000000 + 60 * c
                    for (e = 0; e < 20; e++) {
                        at = random(NR); load(at); cut = random(length(text[at]))
                        line = sprintf("// Changed by commit %d for reason %d.\n", c, random(1000000000))
                        text[at] = substr(text[at], 1, cut) "\n" line substr(text[at], cut + 1)
                        printf "M 100644 inline %s\ndata %d\n%s\n", names[at], length(text[at]), text[at]
                    }
                }
                print "done"
            }' "$work/list"
    } | import
    rm -r "$work"
    git -C "$dir" repack -adfq
}

# small_files N imports files of 200 to 2,000 bytes. A hundred names come in every
# folder, and the files of one name begin alike, as translations do: git packs
# nearly all of them as deltas.
small_files() {
    awk -v count="$1" "$random"'
        function sentences(text, size,   n) {
            while (length(text) < size) {
                for (n = 4 + random(10); n > 0; n--) text = text words[random(1 + random(2000))] " "
                text = text "\n"
            }
            return substr(text, 1, size)
        }
        BEGIN {
            state = 1
            for (w = 0; w < 2000; w++)
                for (n = 3 + random(8); n > 0; n--) words[w] = words[w] substr("etaoinshrdlucmfwypvbgkjqxz", 1 + random(1 + random(26)), 1)
            for (i = 0; i < 100; i++) common[i] = sentences("", 1500)
            print "commit refs/heads/main\ncommitter A U Thor <a@example.com> 1700000000 +0000\ndata 5\nfiles"
            for (i = 0; i < count; i++) {
                size = 200 + random(1801); folder = int(i / 100)
                text = sentences(substr(common[i % 100], 1, int(size * 2 / 3)), size)
                printf "M 100644 inline part%02d/folder%03d/name%02d.txt\ndata %d\n%s\n", folder / 50, folder, i % 100, length(text), text
            }
            print "done"
        }' | import
    git -C "$dir" repack -adfq
}

# large_files imports a file that does not compress, and one as a server logs. The
# pack stays as the import wrote it.
large_files() {
    {
        printf 'commit refs/heads/main\ncommitter A U Thor <a@example.com> 1700000000 +0000\ndata 5\nlarge\n'
        printf 'M 100644 inline noise.bin\ndata %d\n' "$large"
        openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 -in /dev/zero 2> /dev/null | head -c "$large"
        printf '\nM 100644 inline server.log\ndata %d\n' "$large"
        awk "$random"'BEGIN { state = 3; for (n = 0; ; n++)
            printf "2026-01-%02dT%02d:%02d:%02dZ INFO worker-%d request served path=/api/v1/items/%d status=200 duration=%dus\n",
                1 + n / 86400 % 28, n / 3600 % 24, n / 60 % 60, n % 60, random(16), random(100000), random(900000) }' 2> /dev/null | head -c "$large"
        printf '\ndone\n'
    } | import
}

# unpack turns the only pack into loose objects, which git does only where the
# repository does not have them.
unpack() {
    mv "$dir"/objects/pack/*.pack "$dir/aside"
    rm "$dir"/objects/pack/*
    git -C "$dir" unpack-objects -q < "$dir/aside"
    rm "$dir/aside"
}

case $key in
a) go_tree "$tree" 0 ;;
b) go_tree "$tree" $commits ;;
small) go_tree "$small" $((commits / 10)) ;;
d) go_tree "$small" $((commits / 10)) && unpack ;;
c1k) small_files $((files / 100)) ;;
c10k) small_files $((files / 10)) ;;
c) small_files $files ;;
e) large_files ;;
mirror) git clone --quiet --mirror --local "$REPOMCP_BENCH_REPO" "$dir" ;;
*) echo "corpora.sh: there is no repository $key" >&2 && exit 2 ;;
esac
