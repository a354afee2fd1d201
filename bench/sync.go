package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/cgi" //nolint:gosec // for a client of our own
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Names that the targets refer to.
const (
	syncFirst   = "repomcp sync"
	cloneHTTP   = "`git clone --depth 1`, HTTP"
	cloneFile   = "`git clone --depth 1`, file://"
	curlTar     = "`curl` of tar.gz \\| `tar xz`"
	gitFetch    = "`git fetch`"
	gitReset    = "`git fetch --depth 1`, `git reset --hard`"
	gitPull     = "`git pull`"
	rsyncDelete = "`rsync -a --delete`"
)

const (
	// quietly keeps git's housekeeping out of what is measured.
	quietly  = `git -c gc.auto=0 -c maintenance.auto=false `
	cloneTo  = `git clone -q --depth 1 "$GIT/` + repositoryName + `.git" `
	syncTo   = `"$BIN" sync "$URL/mcp" ` + repositoryName + ` `
	rsyncTo  = `rsync -a --delete "$RSYNC" `
	checkout = `"$DIR/checkout"`
	once     = `[ -e "$DIR/checkout" ] || `
	pushes   = 50

	// commitFiles commits a line more in $1 files, and pushes that.
	commitFiles = `cd "$SOURCE" && git -c core.quotePath=false ls-files | awk -v n=$1 -v round="$ROUND" '
	{ path[NR] = $0 } END { for (i = 0; i < n; i++) print path[1 + (37 * round + int(i * NR / n)) % NR] }' |
	while read -r path; do echo "changed in round $ROUND" >> "$path"; done
	` + commit + ` -a && git push -q`
	commit = `git -c user.name=A -c user.email=a@example.com commit -q -m change`

	// pushFile pushes a line, and reports how long it is from the beginning of that until
	// the folder that follows has the file. Ten seconds are too long.
	pushFile = `cd "$SOURCE" && echo "the push of round $ROUND" > pushed && git add pushed && ` + commit + ` || exit
	begin=$(date +%s.%N); git push -q || exit
	until cmp -s pushed "$DIR/checkout/pushed"; do
		[ $((n += 1)) -lt 5000 ] || exit; sleep 0.001
	done
	echo "` + measuredPrefix + `$(echo "$(date +%s.%N) $begin" | awk '{ printf "%.6f", $1 - $2 }')" >&2`
)

// lines are the ways to the servers.
var lines = []string{"loopback", "40 ms and 100 Mbit/s"}

// syncs are the comparisons of local folders that follow a branch.
func syncs() []comparison {
	var list []comparison
	for far, line := range lines {
		first := []contestant{
			{name: cloneHTTP, command: "exec " + cloneTo + `"$DIR/$ROUND"`},
			{name: syncFirst, command: "exec " + syncTo + `"$DIR/$ROUND"`},
			{name: curlTar, command: `mkdir "$DIR/$ROUND" && ` + download + ` | tar xz -C "$DIR/$ROUND"`},
		}
		if far == 0 {
			first = append(first, contestant{name: cloneFile,
				command: `exec git clone -q --depth 1 "file://$REPO" "$DIR/$ROUND"`})
		}
		list = append(list,
			comparison{key: "first", title: "first sync, " + line, contestants: first},
			comparison{key: "nothing", title: "nothing new, " + line, contestants: followers(gitFetch, "fetch -q")})
		for _, n := range []string{"1", "100", "2000"} {
			all := append(followers(gitReset, "fetch -q --depth 1 && "+quietly+"reset -q --hard FETCH_HEAD"),
				byGit(gitPull, "pull -q --ff-only"))
			list = append(list, comparison{key: "changes", title: "changed files: " + n + ", " + line, contestants: all,
				change: "set " + n + "; " + commitFiles})
		}
		for i := range list {
			list[i].far = list[i].far || strings.HasSuffix(list[i].title, lines[1])
		}
	}
	list = append(list, comparison{key: "push", title: "push to file, loopback", rounds: pushes, contestants: []contestant{{
		name: syncFirst, command: pushFile,
		setup: `[ -e "$DIR/pid" ] || { ` + syncTo + checkout + ` --watch > "$DIR/log" 2>&1 & echo $! > "$DIR/pid"
			until [ -s "$DIR/log" ]; do sleep 0.1; done; }`,
		end: `kill $(cat "$DIR/pid")`,
	}}})
	for i := range list {
		list[i].corpora = []string{"sync"}
	}
	return list
}

// byGit brings a shallow clone in step.
func byGit(name, command string) contestant {
	return contestant{name: name, setup: once + cloneTo + checkout, command: "cd " + checkout + " && " + quietly + command}
}

// followers are folders that are brought in step: by git first.
func followers(name, git string) []contestant {
	all := []contestant{
		byGit(name, git),
		{name: syncFirst, setup: once + syncTo + checkout, command: "exec " + syncTo + checkout},
	}
	if _, err := exec.LookPath("rsync"); err == nil {
		all = append(all, contestant{name: rsyncDelete, setup: once + rsyncTo + checkout,
			command: "exec " + rsyncTo + checkout})
	}
	return all
}

// lab is what folders that follow a branch need besides the server of repomcp: a
// mirror that is pushed to, a clone to push from, and the servers of the peers.
type lab struct {
	dir       string
	near, far []string // environments
	closers   []func()
}

// openLab copies the repository and has repomcp serve the copy.
func (b *bench) openLab(ctx context.Context, c *corpus) (*lab, error) {
	l := &lab{dir: filepath.Join(b.dir, "lab")}
	root, source := filepath.Join(l.dir, "root"), filepath.Join(l.dir, "source")
	script := `rm -rf "$1" && mkdir -p "$2" && cp -r "$4" "$2" && git clone -q "$2/` + repositoryName + `.git" "$3"`
	//nolint:gosec // our own
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", l.dir, root, source, c.dir())
	cmd.Env = isolated()
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("preparing the folders: %w: %s", err, out)
	}
	c.root, l.near = root, []string{"SOURCE=" + source}
	return l, nil
}

// serve starts the servers of the peers, and slow lines to all.
func (l *lab) serve(ctx context.Context, root, own string) error {
	path, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return fmt.Errorf("git --exec-path: %w", err)
	}
	backend := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  append(isolated(), "GIT_HTTP_EXPORT_ALL=1", "GIT_PROJECT_ROOT="+root),
	})
	l.closers = append(l.closers, backend.Close)
	type service struct{ name, scheme, address, path string }
	services := []service{
		{"URL", "http://", strings.TrimPrefix(own, "http://"), ""},
		{"GIT", "http://", strings.TrimPrefix(backend.URL, "http://"), ""},
	}
	if _, err := exec.LookPath("rsync"); err == nil {
		address, err := l.startRsync(ctx)
		if err != nil {
			return err
		}
		services = append(services, service{"RSYNC", "rsync://", address, "/source/"})
	}
	l.far = append(l.far, l.near...)
	for _, s := range services {
		line, err := openLine(ctx, s.address)
		if err != nil {
			return err
		}
		l.closers = append(l.closers, line.close)
		l.near = append(l.near, s.name+"="+s.scheme+s.address+s.path)
		// By another name than localhost, so that archives come as from afar.
		l.far = append(l.far, s.name+"="+s.scheme+net.JoinHostPort(hostname(), line.port())+s.path)
	}
	return nil
}

// hostname is that of this machine, by which the far servers are called.
func hostname() string {
	name, _ := os.Hostname() // where there is none, far is a plain failure to connect
	return name
}

// startRsync serves the clone that is pushed from: a process for each connection.
func (l *lab) startRsync(ctx context.Context) (string, error) {
	config := filepath.Join(l.dir, "rsyncd.conf")
	text := "use chroot = no\n[source]\npath = " + filepath.Join(l.dir, "source") + "\nexclude = /.git\n"
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err = errors.Join(err, os.WriteFile(config, []byte(text), 0o600)); err != nil {
		return "", err
	}
	l.closers = append(l.closers, func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			if file, err := connection.File(); err == nil {
				daemon := exec.CommandContext(ctx, "rsync", "--daemon", "--config="+config) //nolint:gosec // our own
				daemon.Stdin, daemon.Stdout = file, file
				go func() { _ = errors.Join(daemon.Run(), file.Close()) }() // its client says what failed
			}
			_ = connection.Close()
		}
	}()
	return listener.Addr().String(), nil
}

// close ends what was started, and removes the folders: not before the end, since
// ext4 looks for inodes for long where many were removed lately.
func (l *lab) close() error {
	if l == nil {
		return nil
	}
	for _, end := range l.closers {
		end()
	}
	return os.RemoveAll(l.dir)
}

// environment of a contestant, with a folder of its own.
func (l *lab) environment(k comparison, one contestant, round int) ([]string, error) {
	if l == nil {
		return nil, nil
	}
	environment := l.near
	if k.far {
		environment = l.far
	}
	dir := filepath.Join(l.dir, strings.Map(plainLetter, k.title), strings.Map(plainLetter, one.name))
	return append(environment[:len(environment):len(environment)], "DIR="+dir, fmt.Sprint("ROUND=", round)),
		os.MkdirAll(dir, 0o750)
}

// plainLetter leaves of a title what a name of a folder may have anywhere.
func plainLetter(r rune) rune {
	if strings.ContainsRune("`|/:\\ ,-", r) {
		return '_'
	}
	return r
}
