# The commands of contestants, and the tables of what is compared with what, on what.
# A command runs after these functions, with the repository as $REPO, its root as
# $ROOT, repomcp as $BIN, the bench's own peers as $PEER, the server's address as $URL,
# a folder $DIR of its own and the $ROUND. What follows a branch has the clone that is
# pushed from as $SOURCE, and the addresses of its peers as $GIT and $RSYNC.

git_archive() { exec git --git-dir "$REPO" archive --format="$1" HEAD; }
own_archive() { exec "$BIN" archive --root "$ROOT" repo HEAD --format "$@"; }
download() { exec curl -sS --fail "$URL/archive/repo/HEAD.tar.gz" "$@"; }
git_here() { exec git --git-dir "$REPO" "$@"; }
peer() { exec $PEER "$@"; }

at_once() {
    for i in $(seq "$1"); do
        "$2" $3 > /dev/null &
    done
    wait
}

# step takes the commit and its first parent that the round is about; past the first
# commit there is nothing to send.
step() {
    set -- $(git --git-dir "$REPO" rev-list --first-parent --skip="$ROUND" -n 2 HEAD)
    [ -n "${2-}" ] || exit 0
    head=$1 base=$2
}

# thin_pack is what git fetch receives: a pack of what the server has and the client has
# not, made as the server makes it.
thin_pack() {
    step
    printf '%s\n^%s\n' "$head" "$base" |
        git --git-dir "$REPO" pack-objects --thin --revs --stdout --delta-base-offset -q
}

update() {
    step
    exec curl -sS --fail "$URL/archive/repo/$head.$1?profile=full&fallback=full&base=$base${2-}"
}

noise=repo://repo/contents/noise.bin binary='"transferMode":"binary",'

# message METHOD MORE asks for the file in 2026-07-28, with more of its params.
message() {
    printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":{"uri":"%s",%s"_meta":{' "$1" $noise "$2"
    printf '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":'
    printf '{"resourceStreaming":{},"binaryTransfer":{"supported":true}}}}}\n'
}

post() {
    exec curl -sS --fail "$URL/mcp" -H 'Content-Type: application/json' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H 'Accept: application/json, text/event-stream, multipart/mixed, */*' \
        -H "Mcp-Method: $1" -H "Mcp-Name: $noise" -d "$(message "$1" "$2")"
}

own_cat() { exec "$BIN" cat "$1" $noise; }
chunks() { message resources/read "$binary" | "$BIN" stdio --root "$ROOT"; }

serve() {
    exec "$BIN" serve --root "$ROOT" --listen "$HOST:$PORT" --log-level error --allowed-host "$NAME" \
        --read-limit 100MiB 2> /dev/null
}

serve_rsync() {
    printf 'use chroot = no\n[source]\npath = %s\nexclude = /.git\n' "$SOURCE" > "$SOURCE.conf"
    exec rsync --daemon --no-detach --config="$SOURCE.conf" --address="$HOST" --port="$PORT"
}

clone() { exec git clone -q --depth 1 "$GIT/repo.git" "$1"; }
clone_file() { exec git clone -q --depth 1 "file://$REPO" "$1"; }
own_sync() { exec "$BIN" sync "$URL/mcp" repo "$@"; }
own_clone() { own_sync --checkout "$1"; }
copy() { exec rsync -a --delete "$RSYNC" "$1"; }

curl_tar() {
    mkdir "$1"
    download | tar xz -C "$1"
}

# curl_checkout FOLDER FORMAT FLAG OPTIONS makes a clone without git; FLAG is that of tar for the format.
curl_checkout() {
    mkdir "$1"
    curl -sS --fail "$URL/archive/repo/HEAD.${2-tar}?profile=checkout${4-}" | tar x ${3-} -C "$1"
}

# curl_delta brings such a clone in step. Nothing is deleted where lines are pushed.
curl_delta() {
    base=$(git -C "$DIR/checkout" rev-parse HEAD)
    curl -sS --fail "$URL/archive/repo/HEAD.tar.gz?profile=checkout&base=$base" |
        tar xz -C "$DIR/checkout" --exclude .repomcp
}

# added FOLDER is what the files of a plain archive need before a status says what was changed.
added() {
    git -C "$1" init -q
    git -C "$1" add -A
}

# serve_nginx has git http-backend answer behind nginx and fcgiwrap, at the address in $DIR/url, until end_nginx.
serve_nginx() {
    [ ! -e "$DIR/url" ] || return 0
    port=$((20000 + $$ % 10000))
    cat > "$DIR/nginx.conf" << END
daemon off; master_process off; pid nginx.pid; error_log error.log;
events {}
http {
    access_log off; client_max_body_size 0;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {
        listen 127.0.0.1:$port;
        location / {
            include /etc/nginx/fastcgi_params;
            fastcgi_pass unix:/tmp/bench-$port.sock;
            fastcgi_buffering off;
            fastcgi_param SCRIPT_FILENAME $(git --exec-path)/git-http-backend;
            fastcgi_param GIT_PROJECT_ROOT $ROOT;
            fastcgi_param GIT_HTTP_EXPORT_ALL 1;
            fastcgi_param PATH_INFO \$uri;
            fastcgi_param GIT_PROTOCOL \$http_git_protocol;
        }
    }
}
END
    setsid fcgiwrap -c 8 -s "unix:/tmp/bench-$port.sock" > /dev/null 2>&1 &
    echo -$! > "$DIR/pids" # of the group: its children stay when it alone ends
    PATH=$PATH:/usr/sbin nginx -p "$DIR" -c nginx.conf > /dev/null 2>&1 &
    echo $! >> "$DIR/pids"
    tries=100
    until curl -s -o "$DIR/refs" --fail "http://127.0.0.1:$port/repo.git/info/refs?service=git-upload-pack"; do
        if [ $((tries -= 1)) = 0 ]; then
            echo 'nginx with fcgiwrap does not answer: both are packages of Debian' >&2
            exit 1
        fi
        sleep 0.1
    done
    echo "http://127.0.0.1:$port" > "$DIR/url"
}

end_nginx() { kill -9 $(cat "$DIR/pids") && rm /tmp/bench-*.sock; }

# git_clone URL OPTIONS makes a clone that is not checked out.
git_clone() {
    url=$1
    shift
    exec git clone -q --bare "$@" "$url" "$DIR/$ROUND"
}

# git_pack writes the pack that a clone receives.
git_pack() {
    git clone -q --bare --depth 1 "$(cat "$DIR/url")/repo.git" "$DIR/$ROUND" && exec cat "$DIR/$ROUND"/objects/pack/*.pack
}

# checkout_by makes the folder that is brought in step, before the first round.
checkout_by() { [ -e "$DIR/checkout" ] || "$1" "$DIR/checkout"; }

# quietly keeps git's housekeeping out of what is measured.
quietly() { git -C "$DIR/checkout" -c gc.auto=0 -c maintenance.auto=false "$@"; }

commit() { git -c user.name=A -c user.email=a@example.com commit -q -m change "$@"; }

# push_lines commits a line more in $1 files, and pushes that.
push_lines() {
    cd "$SOURCE"
    git -c core.quotePath=false ls-files | awk -v n="$1" -v round="$ROUND" '{ path[NR] = $0 }
        END { for (i = 0; i < n; i++) print path[1 + (37 * round + int(i * NR / n)) % NR] }' |
        while read -r path; do echo "changed in round $ROUND" >> "$path"; done
    commit -a && git push -q
}

# push_commits pushes $1 commits, which change the same file and one more each.
push_commits() {
    cd "$SOURCE"
    for n in $(seq "$1"); do
        git -c core.quotePath=false ls-files | sed -n "30p;$((37 * (n + ROUND)))p" |
            while read -r path; do echo "commit $n of round $ROUND" >> "$path"; done
        commit -a || exit
    done
    git push -q
}

# push_file pushes a line, and reports how long it is from the beginning of that until
# the folder that follows has the file. Ten seconds are too long.
push_file() {
    cd "$SOURCE" && echo "the push of round $ROUND" > pushed && git add pushed && commit || exit
    begin=$(date +%s.%N)
    git push -q || exit
    until cmp -s pushed "$DIR/checkout/pushed"; do
        [ $((n += 1)) -lt 5000 ] || exit
        sleep 0.001
    done
    echo "$(date +%s.%N) $begin" | awk '{ printf "bench-seconds: %.6f\n", $1 - $2 }' >&2
}

watch() {
    [ ! -e "$DIR/pid" ] || return 0
    "$BIN" sync "$URL/mcp" repo "$DIR/checkout" --watch > "$DIR/log" 2>&1 &
    echo $! > "$DIR/pid"
    until [ -s "$DIR/log" ]; do sleep 0.1; done
}

# facts are those of the machine and of the programs, a line each.
facts() {
    echo "date: $(date -u +%F)"
    echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors, Linux $(uname -r)"
    echo "load at the end, of 1, 5 and 15 minutes, the run's own included: $(cut -d ' ' -f 1-3 /proc/loadavg)"
    echo "repomcp $(git describe --always --dirty), $(git version), $(go env GOVERSION), zstd $(zstd --version | grep -o 'v[0-9.]*')"
}

# The rows of the tables: words with tabs between.
row() {
    printf '%s' "$1"
    shift
    printf '\t%s' "$@"
    echo
}
corpus() { row corpus "$@"; }         # KEY TITLE [how many ROUNDS at most]
comparison() { row comparison "$@"; } # KEY CORPORA TITLE [ROUNDS, KIND, COMMAND before a round]
contestant() { row contestant "$@"; } # NAME COMMAND ["server" did the work, COMMAND before a round and at the end]
target() { row target "$@"; }         # WHAT COMPARISON CORPORA NAME OTHER QUANTITY LIMIT ["worst" round]

tables() {
    corpora
    archives
    searches
    histories
    for what in first_sync follow; do
        $what loopback ''
        $what '40 ms and 100 Mbit/s' far
    done
    comparison push sync 'push to file, loopback' 50
    contestant "$sync" push_file '' watch 'kill $(cat "$DIR/pid")'
    transfers
    clones
    checkouts
    targets
}

corpora() {
    corpus a "(a) Go's source tree as one commit"
    corpus b '(b) 500 commits over it, in deltas'
    corpus small 'small: some packages of Go with a history'
    corpus d '(d) the small one as loose objects'
    corpus c1k '1,000 small files'
    corpus c10k '10,000 small files'
    corpus c '(c) 100,000 small files'
    corpus sync "(f) Go's source tree with its tests and documents, which is pushed to"
    corpus e '(e) two files of 1 GiB, noise and text' 3
    corpus noise 'one file of 64 MiB of noise'
    corpus h '(h) 400,000 commits with a commit-graph' 3
    corpus pulls '(pulls) 20,000 refs of pull requests'
    corpus h-bare '(h) without a commit-graph' 3
    [ -z "${REPOMCP_BENCH_REPO-}" ] || corpus mirror "the mirror $(basename "$REPOMCP_BENCH_REPO")"
}

git_tar_gz='`git archive --format=tar.gz`' own_tar_gz='repomcp archive, tar.gz' http_tar_gz='repomcp over HTTP, tar.gz'
git_tar='`git archive --format=tar`' own_tar='repomcp archive, tar'
git_zstd='`git archive` \| `zstd -T2`' own_zstd='repomcp archive, tar.zst'
git_zip='`git archive --format=zip`' own_zip='repomcp archive, zip'
go_git_read='all blobs, go-git' own_read='repomcp archive, tar, ids compared'
git_sizes='all sizes, `git ls-tree -r -l`' own_sizes='repomcp archive --dry-run'

archives() {
    comparison archives 'a b small d c1k c10k c e mirror' 'archives of HEAD'
    contestant "$git_tar_gz" 'git_archive tar.gz'
    contestant "$own_tar_gz" 'own_archive tar.gz'
    contestant "$http_tar_gz" download server
    contestant "$git_tar" 'git_archive tar'
    contestant "$own_tar" 'own_archive tar'
    comparison formats 'a b small d c mirror' 'other formats and compressors'
    contestant "$git_tar_gz" 'git_archive tar.gz'
    contestant "$git_zstd" 'git_archive tar | zstd -T2 -q -c'
    contestant "$own_zstd" 'own_archive tar.zst'
    contestant "$git_zip" 'git_archive zip'
    contestant "$own_zip" 'own_archive zip'
    contestant '`git archive` \| `gzip`' 'git_archive tar | gzip -c -n'
    comparison blobs 'a b c' 'reading all blobs of HEAD'
    contestant "$go_git_read" 'peer blobs-go-git'
    contestant "$own_read" 'own_archive tar'
    comparison sizes 'a b c' 'sizes of all blobs of HEAD'
    contestant "$git_sizes" 'git_here ls-tree -r -l HEAD'
    contestant "$own_sizes" 'own_archive tar --dry-run'
    for n in 1 8 50; do
        comparison crowd a "$n archives at once" 3
        contestant "$git_tar_gz" "at_once $n git_archive tar.gz"
        contestant "$http_tar_gz" "at_once $n download" server
    done
    comparison updates 'b mirror' 'bytes of the last 200 steps of its branch' 200
    contestant 'pack of `git fetch`' thin_pack
    contestant 'tar.zst with `delta=patch`, as sync takes it' 'update tar.zst "&delta=patch"'
    contestant 'tar.gz with `delta=patch`' 'update tar.gz "&delta=patch"'
    contestant tar.zst 'update tar.zst'
    contestant tar.gz 'update tar.gz'
}

git_grep='`git grep -n -I`' own_cold='repomcp, a process of its own' own_warm='repomcp, searched before'

searches() {
    while read -r kind term; do
        comparison search a "lines with \`$(echo "$term" | sed 's/|/\\|/g')\`"
        contestant "$git_grep" "git_here grep -n -I $kind -e '$term' HEAD"
        contestant "$own_cold" "peer search $kind '$term'"
        contestant "$own_warm" "peer search $kind '$term' '$term'"
    done << 'END'
-F must be a non-nil
-F return
-E func \([a-z]+ \*[A-Z][A-Za-z]*\) (Read|Write)[A-Z]
END
}

# histories compares a process of git with one of ours, and with the second time that
# ours is asked.
histories() {
    file=part07/group3/file3.txt folder=part07/group3
    ask 'log of a file' "log -n 30 main -- $file" log main $file
    ask 'log of a folder' "log -n 30 main -- $folder" log main $folder
    ask blame "blame --porcelain main -- $file" blame main $file
    ask 'merge base' 'merge-base main old' merge-base main old
    ask 'ahead and behind' 'rev-list --left-right --count main...old' count main old
    ask reachable 'merge-base --is-ancestor old~1 main' reachable main old
}

# ask TITLE COMMAND PEER BRANCH OTHER
ask() {
    comparison history 'h h-bare' "$1"
    contestant git "git_here $2"
    contestant "$own_cold" "peer $3 $4 $5"
    contestant 'repomcp, asked before' "peer $3 $4 $5 $5"
    [ "$5" = old ] || contestant 'repomcp, asked of another path before' "peer $3 $4 $5 part03/group1/file2.txt"
}

sync='repomcp sync'
clone_http='`git clone --depth 1`, HTTP' clone_local='`git clone --depth 1`, file://'
curl_tar='`curl` of tar.gz \| `tar xz`' git_fetch='`git fetch`' git_reset='`git fetch --depth 1`, `git reset --hard`'
git_all='`git fetch`, `git reset --hard`'
git_pull='`git pull`' rsync_delete='`rsync -a --delete`'

# first_sync LINE KIND comes before anything is pushed: git compresses anew what was.
first_sync() {
    comparison first sync "first sync, $1" 0 "$2"
    contestant "$clone_http" 'clone "$DIR/$ROUND"'
    contestant "$sync" 'own_sync "$DIR/$ROUND"'
    contestant "$curl_tar" 'curl_tar "$DIR/$ROUND"'
    [ -n "$2" ] || contestant "$clone_local" 'clone_file "$DIR/$ROUND"'
}

# follow LINE KIND compares local folders that follow a branch.
follow() {
    comparison nothing sync "nothing new, $1" 0 "$2"
    contestant "$git_fetch" 'quietly fetch -q' '' 'checkout_by clone'
    followers
    for n in 1 100 2000; do
        comparison changes sync "changed files: $n, $1" 0 "$2" "push_lines $n"
        contestant "$git_reset" 'quietly fetch -q --depth 1 && quietly reset -q --hard FETCH_HEAD' '' 'checkout_by clone'
        followers
        contestant "$git_pull" 'quietly pull -q --ff-only' '' 'checkout_by clone'
    done
}

followers() {
    contestant "$sync" 'own_sync "$DIR/checkout"' '' 'checkout_by own_sync'
    contestant "$rsync_delete" 'copy "$DIR/checkout"' '' 'checkout_by copy'
}

# transfers are the ways of a large file through MCP. Of curl's rows MiB are the body as
# it was sent, and of a pipe all that the server wrote; repomcp cat's rows have the
# file, and the memory of the client.
transfers() {
    comparison transfers noise 'a file of 64 MiB over MCP'
    contestant 'resources/read, base64' 'post resources/read ""' server
    contestant 'resources/read, parts of the reply' 'post resources/read "$binary"' server
    contestant resources/stream 'post resources/stream ""' server
    contestant 'resources/read, frames over WebSocket' 'own_cat "ws${URL#http}/ws"' server
    contestant 'resources/read, chunks over stdio' chunks
    contestant 'repomcp cat, HTTP' 'own_cat "$URL/mcp"'
    contestant 'repomcp cat, frames' 'own_cat "ws${URL#http}/ws"'
    contestant 'repomcp cat, chunks, with its server' 'own_cat "stdio:$BIN stdio --root $ROOT"'
}

nginx_git='`git http-backend` behind nginx' own_git='repomcp, /git'

# clones are those of git clients, by one server and by the other.
clones() {
    for options in '' '--depth 1'; do
        comparison git 'a b c d h pulls mirror' "git clone --bare $options"
        contestant "$nginx_git" "git_clone \"\$(cat \"\$DIR/url\")/repo.git\" $options" '' serve_nginx end_nginx
        contestant "$own_git" "git_clone \"\$URL/git/repo\" $options"
    done
    comparison git 'a b c d h pulls mirror' 'git fetch with nothing new'
    contestant "$nginx_git" 'exec git ls-remote --heads --tags "$(cat "$DIR/url")/repo.git"' '' serve_nginx end_nginx
    contestant "$own_git" 'exec git ls-remote --heads --tags "$URL/git/repo"'
}

clone_nginx='`git clone --depth 1`, HTTP (nginx)' own_curl='`curl` of a checkout \| `tar x`'
clone_pack='the pack of `git clone --depth 1`' get_bytes='repomcp get --checkout, from another machine'
own_checkout='repomcp archive, tar.gz, checkout' own_blobless='repomcp archive, tar.gz, blobless checkout'
init_add='`git init`, `git add`, `git status`, in a plain archive' after_add='`git status` alone, in the same'
after_curl='`git status`, in a checkout'
curl_delta='`curl` of the difference \| `tar xz`' get_checkout='repomcp get --checkout' sync_checkout='repomcp sync --checkout'

# checkouts are archives that are clones.
checkouts() {
    comparison checkout 'sync c mirror' 'a clone of HEAD'
    contestant "$clone_nginx" 'exec git clone -q --depth 1 "$(cat "$DIR/url")/repo.git" "$DIR/$ROUND"' '' serve_nginx end_nginx
    contestant "$clone_local" 'clone_file "$DIR/$ROUND"'
    contestant "$get_checkout" 'exec "$BIN" get --checkout "$URL/mcp" repo -o "$DIR/$ROUND"'
    contestant "$own_curl" 'curl_checkout "$DIR/$ROUND" tar'
    contestant 'the same, tar.zst' 'curl_checkout "$DIR/$ROUND" tar.zst --zstd'
    contestant 'the same, tar.gz' 'curl_checkout "$DIR/$ROUND" tar.gz -z'
    contestant 'the same, tar.gz, blobless' 'curl_checkout "$DIR/$ROUND" tar.gz -z "&objects=blobless&origin=https://git.example/a"'
    comparison checkout 'sync c mirror' 'an archive with .git'
    contestant "$own_tar_gz" 'own_archive tar.gz'
    contestant "$own_checkout" 'own_archive tar.gz --profile checkout --origin https://git.example/a'
    contestant "$own_blobless" 'own_archive tar.gz --profile checkout --origin https://git.example/a --objects blobless'
    comparison checkout 'sync c mirror' 'the bytes of a clone'
    contestant "$clone_pack" git_pack '' serve_nginx end_nginx
    contestant "$get_bytes" 'own_archive tar.zst --profile checkout --origin https://git.example/a --objects converted'
    comparison checkout 'sync c mirror' 'the first git status'
    contestant "$init_add" 'added "$DIR/$ROUND" && exec git -C "$DIR/$ROUND" status --short' '' 'curl_tar "$DIR/$ROUND"'
    contestant "$after_add" 'exec git -C "$DIR/$ROUND" status --short' '' 'curl_tar "$DIR/$ROUND" && added "$DIR/$ROUND"'
    contestant "$after_curl" 'exec git -C "$DIR/$ROUND" status --short' '' 'curl_checkout "$DIR/$ROUND" tar'
    comparison checkout sync 'a changed file of a clone' 0 '' 'push_lines 1'
    contestant "$git_reset" 'quietly fetch -q --depth 1 && quietly reset -q --hard FETCH_HEAD' '' 'checkout_by clone'
    contestant "$sync_checkout" 'own_clone "$DIR/checkout"' '' 'checkout_by own_clone'
    contestant "$curl_delta" curl_delta '' 'checkout_by curl_checkout'
    comparison checkout sync 'fifty commits for a clone' 0 '' 'push_commits 50'
    contestant "$git_all" 'quietly fetch -q && quietly reset -q --hard FETCH_HEAD' '' 'checkout_by clone'
    contestant "$sync_checkout" 'own_clone "$DIR/checkout"' '' 'checkout_by own_clone'
}

# targets are all that is wanted: on each of the repositories, at most so many times
# what another contestant takes, or so many seconds or MiB where there is no other.
targets() {
    all='a b small c d e' head='archives of HEAD'
    target "tar.gz against git's, wall" "$head" 'a b' "$own_tar_gz" "$git_tar_gz" wall 0.23
    target 'the same' "$head" 'small d' "$own_tar_gz" "$git_tar_gz" wall 0.33
    target 'the same' "$head" c "$own_tar_gz" "$git_tar_gz" wall 0.36
    target 'the same' "$head" e "$own_tar_gz" "$git_tar_gz" wall 0.15
    target 'tar.gz, CPU' "$head" 'a b' "$own_tar_gz" "$git_tar_gz" cpu 0.5
    target 'tar.gz, size' "$head" "$all" "$own_tar_gz" "$git_tar_gz" size 1.05
    target "plain tar against git's, wall" "$head" 'a b c' "$own_tar" "$git_tar" wall 0.6
    target 'tar.gz over HTTP against the command, wall' "$head" "$all" "$http_tar_gz" "$own_tar_gz" wall 1.1
    target 'anonymous memory of the command, MiB' "$head" "$all" "$own_tar_gz" '' anonymous 64
    target 'anonymous memory of the server, MiB' "$head" "$all" "$http_tar_gz" '' anonymous 64
    target 'first byte of the command, ms' "$head" 'a b' "$own_tar_gz" '' first 20
    target 'tar.zst against git and zstd, wall' 'other formats' 'a b' "$own_zstd" "$git_zstd" wall 1.1
    target 'tar.zst, size' 'other formats' 'a b' "$own_zstd" "$git_zstd" size 1.02
    target "zip against git's, wall" 'other formats' 'a b' "$own_zip" "$git_zip" wall 0.35
    target 'fifty archives at once, wall' '50 archives' a "$http_tar_gz" "$git_tar_gz" wall 0.36
    target 'fifty archives at once, anonymous MiB' '50 archives' a "$http_tar_gz" '' anonymous 300
    target 'all blobs against go-git, wall' 'reading all blobs' 'a b c' "$own_read" "$go_git_read" wall 0.15
    target 'all sizes against git ls-tree, wall' 'sizes of all' 'a b c' "$own_sizes" "$git_sizes" wall 1
    target 'search against git grep, wall' 'lines with' a "$own_cold" "$git_grep" wall 1
    target 'the same search again' 'lines with' a "$own_warm" "$git_grep" wall 0.2
    target 'first sync against a clone over HTTP, wall' 'first sync' sync "$sync" "$clone_http" wall 0.5
    target 'the same, CPU of the client' 'first sync' sync "$sync" "$clone_http" cpu 0.4
    target 'first sync against a clone of a file, wall' 'first sync' sync "$sync" "$clone_local" wall 0.5
    target 'first sync against curl and tar, wall' 'first sync' sync "$sync" "$curl_tar" wall 1
    target 'nothing new against git fetch, wall' 'nothing new' sync "$sync" "$git_fetch" wall 0.5
    target 'changed files against fetch and reset, wall' changed sync "$sync" "$git_reset" wall 0.5
    target 'the same against git pull' changed sync "$sync" "$git_pull" wall 0.5
    target 'the same against rsync' changed sync "$sync" "$rsync_delete" wall 1
    target 'push to file, s' 'push to file' sync "$sync" '' wall 0.3
    target 'push to file, worst of 50, s' 'push to file' sync "$sync" '' wall 1 worst
    target "git clone against git's own server, wall" 'git clone' 'a b c d h' "$own_git" "$nginx_git" wall 1.05
    target 'git fetch, wall' 'git fetch' 'a b c d h pulls' "$own_git" "$nginx_git" wall 1.05
    target "a checkout against git clone over HTTP, client's CPU" 'a clone of HEAD' 'sync c' "$own_curl" "$clone_nginx" cpu 0.4
    target 'the same, wall' 'a clone of HEAD' 'sync c' "$own_curl" "$clone_nginx" wall 0.6
    target "the same against a clone of a file, client's CPU" 'a clone of HEAD' 'sync c' "$own_curl" "$clone_local" cpu 0.4
    target 'the same, wall' 'a clone of HEAD' 'sync c' "$own_curl" "$clone_local" wall 0.6
    target 'repomcp get --checkout against a clone over HTTP, wall' 'a clone of HEAD' 'sync c' "$get_checkout" "$clone_nginx" wall 0.5
    target 'the same, size' 'the bytes of a clone' 'sync c' "$get_bytes" "$clone_pack" size 1.1
    target "a checkout against its files alone, server's CPU" 'an archive with' 'sync c' "$own_checkout" "$own_tar_gz" cpu 2
    target 'the same, size' 'an archive with' 'sync c' "$own_checkout" "$own_tar_gz" size 2.1
    target "a blobless checkout against its files alone, server's CPU" 'an archive with' 'sync c' "$own_blobless" "$own_tar_gz" cpu 1.15
    target 'the same, size' 'an archive with' 'sync c' "$own_blobless" "$own_tar_gz" size 1.15
    target 'the first status, wall' 'the first git status' 'sync c' "$after_curl" "$init_add" wall 0.25
    target 'a difference of one file against fetch and reset, wall' 'a changed file of' sync "$curl_delta" "$git_reset" wall 0.25
    target 'the same by repomcp sync --checkout' 'a changed file of' sync "$sync_checkout" "$git_reset" wall 0.25
    target 'fifty commits against fetch and reset, wall' 'fifty commits' sync "$sync_checkout" "$git_all" wall 1
    target 'anonymous memory of a first sync, MiB' 'first sync' sync "$sync" '' anonymous 64
}
