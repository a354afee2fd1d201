#!/bin/sh
# Makes one of the benchmark's repositories: corpora.sh KEY DIR [quick]
# The same generator of numbers everywhere: all machines measure the same repositories.
set -eu
key=$1 dir=$2 quick=${3-}
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null LC_ALL=C
src=$(go env GOROOT)/src

if [ -n "$quick" ]; then
    tree='archive encoding go net' small=encoding commits=30 files=3000 large=33554432 history=4000 pulls=200
else
    tree=. small='archive net text' commits=500 files=100000 large=1073741824 history=400000 pulls=20000
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

# one_file imports noise.bin of 64 MiB.
one_file() {
    {
        printf 'commit refs/heads/main\ncommitter A U Thor <a@example.com> 1700000000 +0000\ndata 5\nnoise\n'
        printf 'M 100644 inline noise.bin\ndata 67108864\n'
        openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 -in /dev/zero 2> /dev/null | head -c 67108864
        printf '\ndone\n'
    } | import
}

# long_history N imports N commits by 2,000 people over 4,000 files of 40 lines. Each
# changes a line of one file or two; every fifth time a branch of up to five commits
# begins some commits back and is merged. A clock in fifty is a day behind. The branch
# old is one commit that was made halfway and never merged.
long_history() {
    awk -v count="$1" "$random"'
        function path(f) { return sprintf("part%02d/group%d/file%d.txt", f / 100, f / 10 % 10, f % 10) }
        function put(f) {
            printf "M 100644 inline %s\ndata %d\n%s\n", path(f), length(text[f]), text[f]
        }
        function edit(f,   at, end, i) {
            at = 1
            for (i = random(40); i > 0; i--) at += index(substr(text[f], at), "\n")
            end = at + index(substr(text[f], at), "\n")
            text[f] = substr(text[f], 1, at - 1) sprintf("line of commit %d\n", made) substr(text[f], end)
            put(f)
        }
        function commit(from, merged,   date, who) {
            made++; who = random(2000); date = 1200000000 + 1200 * made - (random(50) ? 0 : 86400)
            printf "commit refs/heads/main\nmark :%d\ncommitter Author %d <author%d@example.com> %d +0000\ndata %d\n%s\n",
                made, who, who, date, length("change " made), "change " made
            if (from) printf "from :%d\n", from
            if (merged) printf "merge :%d\n", merged
        }
        BEGIN {
            state = 5
            for (i = 0; i < 40; i++) lines = lines "line " i "\n"
            commit(0, 0)
            for (f = 0; f < 4000; f++) { text[f] = lines; put(f) }
            for (tip = main[0] = 1; made < count;) {
                side = 0; changed = 0
                if (!random(5)) {
                    side = main[depth - random(depth < 20 ? depth + 1 : 20)]
                    for (n = 1 + random(5); n > 0; n--) {
                        commit(side, 0); side = made; edit(f = random(4000)); files[changed++] = f
                    }
                }
                commit(tip, side); tip = main[++depth] = made
                while (changed > 0) put(files[--changed])
                for (n = side ? 0 : 1 + random(2); n > 0; n--) edit(random(4000))
            }
            printf "reset refs/heads/main\nfrom :%d\ndone\n", tip
        }' | import
    half=$(git -C "$dir" rev-list --first-parent main | awk '{ at[NR] = $0 } END { print at[int(NR / 2)] }')
    printf 'commit refs/heads/old\ncommitter A U Thor <a@example.com> 1400000000 +0000\ndata 3\nold\nfrom %s\n' "$half" |
        git -C "$dir" fast-import --quiet
}

# pull_requests N adds N refs, each with a commit of its own.
pull_requests() {
    awk -v count="$1" 'BEGIN {
        for (i = 1; i <= count; i++) {
            printf "commit refs/pull/%d/head\ncommitter A U Thor <a@example.com> %d +0000\ndata 4\npull\nfrom refs/heads/main^0\n", i, 1800000000 + i
            printf "M 100644 inline pull.txt\ndata %d\n%d\n", length(i), i
        }
        print "done"
    }' | git -C "$dir" -c fastimport.unpackLimit=0 fast-import --quiet --done
    git -C "$dir" repack -adq && git -C "$dir" pack-refs --all
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
sync) if [ -z "$quick" ]; then src=${src%/src} && tree='api doc lib misc src test'; fi; go_tree "$tree" 0 ;;
c1k) small_files $((files / 100)) ;;
c10k) small_files $((files / 10)) ;;
c) small_files $files ;;
e) large_files ;;
noise) one_file ;;
h) long_history $history && git -C "$dir" commit-graph write --reachable --changed-paths --split ;;
pulls) go_tree "$small" 0 && pull_requests $pulls ;;
h-bare) long_history $history ;;
mirror) git clone --quiet --mirror --local "$REPOMCP_BENCH_REPO" "$dir" ;;
*) echo "corpora.sh: there is no repository $key" >&2 && exit 2 ;;
esac
