//go:build linux

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http/cgi" //nolint:gosec // for a client of our own
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// startTimeout and stopTimeout are how long a server may take to begin, and to end
	// before it is killed.
	startTimeout, stopTimeout = 10 * time.Second, 10 * time.Second
	// copied is a corpus that is pushed to: what is measured is a copy.
	copied = "sync"
)

// repositoryName is what every repository is called below its root.
const repositoryName = "repo"

// generator is the script that makes the repositories.
//
//go:embed corpora.sh
var generator string

// prepare makes the repository in the cache unless the same script made it.
func (b *bench) prepare(ctx context.Context, c *corpus) error {
	scale := ""
	if b.quick {
		scale = "quick"
	}
	c.root = filepath.Join(b.dir, "scale-"+scale, c.key)
	stamp, made := c.root+".stamp", generator+runtime.Version()
	if was, err := os.ReadFile(stamp); err == nil && string(was) == made && c.key != "mirror" {
		return nil
	}
	b.progress("generating %s", c.title)
	if err := errors.Join(os.RemoveAll(stamp), os.RemoveAll(c.root), os.MkdirAll(c.root, 0o750)); err != nil {
		return err
	}
	if _, err := shell(ctx, nil, generator, c.key, filepath.Join(c.root, repositoryName+".git"), scale); err != nil {
		return fmt.Errorf("generating it: %w", err)
	}
	// Last, so that what was left half made is made again.
	return os.WriteFile(stamp, []byte(made), 0o600)
}

// place is where contestants run: repomcp serving one repository, and for folders that
// follow a branch a clone to push from, and the servers of the peers.
type place struct {
	dir       string   // removed in the end
	near, far []string // environments
	server    int      // process
	closers   []func()
}

// open starts what there has to be, and warms repomcp with one archive: what is
// measured is a server in use. Close the place also after a failure.
func (p *place) open(ctx context.Context, c corpus, binary string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	root, repository, source := c.root, repositoryName+".git", filepath.Join(p.dir, "source")
	if c.key == copied {
		root = filepath.Join(p.dir, "root")
		const script = `rm -rf "$1" && mkdir -p "$2" && cp -r "$3/$4" "$2" && git clone -q "$2/$4" "$5"`
		if _, err := shell(ctx, isolated(), script, p.dir, root, c.root, repository, source); err != nil {
			return fmt.Errorf("preparing the folders: %w", err)
		}
	}
	p.near = append(isolated(), "REPO="+filepath.Join(root, repository), "ROOT="+root, "BIN="+binary,
		"PEER="+self+" "+peerCommand, "SOURCE="+source, "NAME="+hostname())
	address, pid, err := p.start(ctx, "serve")
	if err != nil {
		return err
	}
	p.server = pid
	if c.key == copied {
		err = p.startPeers(ctx, root, address)
	} else {
		p.near = append(p.near, "URL=http://"+address)
	}
	if err == nil {
		_, err = measureCommand(ctx, "download", p.near, 0)
	}
	return err
}

// start runs a command that serves at $HOST and $PORT, and waits until it does.
func (p *place) start(ctx context.Context, command string) (address string, pid int, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		return "", 0, err
	}
	address = listener.Addr().String()
	host, port, _ := net.SplitHostPort(address)
	// An interrupted run ends the server as well, but after its last reply.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(ctx, "sh", "-c", commands+command) //nolint:gosec // our own
	cmd.Env = append(slices.Clone(p.near), "HOST="+host, "PORT="+port)
	cmd.Stderr, cmd.WaitDelay = os.Stderr, stopTimeout
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	p.closers = append(p.closers, func() {
		stop()
		_ = cmd.Wait() // it was told to end
	})
	if err := errors.Join(listener.Close(), cmd.Start()); err != nil {
		return "", 0, err
	}
	for end := time.Now().Add(startTimeout); ; time.Sleep(startTimeout / 1000) {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return address, cmd.Process.Pid, connection.Close()
		}
		if time.Now().After(end) {
			return "", 0, fmt.Errorf("%s: %w", command, err)
		}
	}
}

// startPeers starts the servers of the peers, and slow lines to all.
func (p *place) startPeers(ctx context.Context, root, own string) error {
	path, err := shell(ctx, nil, "git --exec-path")
	if err != nil {
		return err
	}
	backend := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(path, "git-http-backend"),
		Env:  append(isolated(), "GIT_HTTP_EXPORT_ALL=1", "GIT_PROJECT_ROOT="+root),
	})
	p.closers = append(p.closers, backend.Close)
	rsync, _, err := p.start(ctx, "serve_rsync")
	if err != nil {
		return err
	}
	p.far = slices.Clone(p.near)
	for _, s := range [][3]string{
		{"URL=http://", own}, {"GIT=http://", backend.Listener.Addr().String()}, {"RSYNC=rsync://", rsync, "/source/"},
	} {
		line, err := openLine(ctx, s[1])
		if err != nil {
			return err
		}
		p.closers = append(p.closers, func() { _ = line.Close() })
		_, port, _ := net.SplitHostPort(line.Addr().String())
		p.near = append(p.near, s[0]+s[1]+s[2])
		// By another name than localhost, so that archives come as from afar.
		p.far = append(p.far, s[0]+net.JoinHostPort(hostname(), port)+s[2])
	}
	return nil
}

// hostname is that of this machine, by which the far servers are called.
func hostname() string {
	name, _ := os.Hostname() // where there is none, far is a plain failure to connect
	return name
}

// close ends what was started, and removes the folders: not before the end, since
// ext4 looks for inodes for long where many were removed lately.
func (p *place) close() error {
	for _, end := range p.closers {
		end()
	}
	return os.RemoveAll(p.dir)
}

// run runs a command of a contestant, which has a folder of its own.
func (p *place) run(
	ctx context.Context, k comparison, one contestant, round int, command string,
) (u usage, err error) {
	if command == "" {
		return u, nil
	}
	environment, server := p.near, 0
	if k.far {
		environment = p.far
	}
	if p.far != nil {
		unix.Sync() // what others have written is not to be waited for
	}
	if one.server && command == one.command {
		server = p.server
	}
	dir := filepath.Join(p.dir, url.PathEscape(k.title), url.PathEscape(one.name))
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return u, err
	}
	return measureCommand(ctx, command, append(slices.Clone(environment), "DIR="+dir, fmt.Sprint("ROUND=", round)),
		server)
}
