package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/cgi" //nolint:gosec // for a client of our own
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stopTimeout is how long a server may take to end before it is killed.
	stopTimeout = 10 * time.Second
	// copied is a corpus that is pushed to: what is measured is a copy.
	copied = "sync"
)

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
		"PEER="+self+" "+peerCommand, "SOURCE="+source)
	address, err := p.startServer(ctx, binary, root)
	if err != nil {
		return err
	}
	if c.key == copied {
		err = p.startPeers(ctx, root, source, address)
	} else {
		p.near = append(p.near, "URL=http://"+address)
	}
	if err == nil {
		_, err = measureCommand(ctx, "download", p.near, 0)
	}
	return err
}

// startServer starts repomcp, whose address it returns.
func (p *place) startServer(ctx context.Context, binary, root string) (address string, err error) {
	// An interrupted run ends the server as well, but after its last reply.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	//nolint:gosec // our own
	cmd := exec.CommandContext(ctx, binary, "serve", "--root", root, "--listen", "127.0.0.1:0", "--log-level", "error",
		"--allowed-host", hostname(), "--read-limit", "100MiB")
	cmd.Env, cmd.WaitDelay = isolated(), stopTimeout
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	stderr, err := cmd.StderrPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		stop()
		return "", fmt.Errorf("starting the server: %w", err)
	}
	p.server = cmd.Process.Pid
	p.closers = append(p.closers, func() {
		stop()
		_ = cmd.Wait() // it was told to end
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "listening on http://"); ok {
			address, _, _ = strings.Cut(rest, ",")
			go func() { // keeps the pipe empty
				for lines.Scan() {
				}
			}()
			return address, nil
		}
	}
	return "", errors.New("the server does not listen")
}

// startPeers starts the servers of the peers, and slow lines to all.
func (p *place) startPeers(ctx context.Context, root, source, own string) error {
	path, err := shell(ctx, nil, "git --exec-path")
	if err != nil {
		return err
	}
	backend := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(path, "git-http-backend"),
		Env:  append(isolated(), "GIT_HTTP_EXPORT_ALL=1", "GIT_PROJECT_ROOT="+root),
	})
	p.closers = append(p.closers, backend.Close)
	p.far = slices.Clone(p.near)
	services := [][3]string{{"URL=http://", own}, {"GIT=http://", strings.TrimPrefix(backend.URL, "http://")}}
	if _, err := exec.LookPath("rsync"); err == nil {
		address, err := p.startRsync(ctx, source)
		if err != nil {
			return err
		}
		services = append(services, [3]string{"RSYNC=rsync://", address, "/source/"})
	}
	for _, s := range services {
		line, err := openLine(ctx, s[1])
		if err != nil {
			return err
		}
		p.closers = append(p.closers, line.close)
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

// startRsync serves the clone that is pushed from: a process for each connection.
func (p *place) startRsync(ctx context.Context, source string) (string, error) {
	config := filepath.Join(p.dir, "rsyncd.conf")
	text := "use chroot = no\n[source]\npath = " + source + "\nexclude = /.git\n"
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err = errors.Join(err, os.WriteFile(config, []byte(text), 0o600)); err != nil {
		return "", err
	}
	p.closers = append(p.closers, func() { _ = listener.Close() })
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
func (p *place) close() error {
	for _, end := range p.closers {
		end()
	}
	return os.RemoveAll(p.dir)
}

// environment of a contestant, with a folder of its own.
func (p *place) environment(k comparison, one contestant, round int) ([]string, error) {
	environment := p.near
	if k.far {
		environment = p.far
	}
	dir := filepath.Join(p.dir, url.PathEscape(k.title), url.PathEscape(one.name))
	return append(slices.Clone(environment), "DIR="+dir, fmt.Sprint("ROUND=", round)), os.MkdirAll(dir, 0o750)
}

// measure runs the command of a contestant.
func (p *place) measure(ctx context.Context, k comparison, one contestant, round int) (usage, error) {
	environment, err := p.environment(k, one, round)
	if err != nil {
		return usage{}, err
	}
	if p.far != nil {
		unix.Sync() // what others have written is not to be waited for
	}
	server := 0
	if one.server {
		server = p.server
	}
	return measureCommand(ctx, one.command, environment, server)
}

// runAside runs a command that is not measured.
func (p *place) runAside(ctx context.Context, k comparison, one contestant, round int, command string) error {
	environment, err := p.environment(k, one, round)
	if err == nil && command != "" {
		_, err = shell(ctx, environment, commands+command)
	}
	return err
}
