package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// startAt runs the program at an address, whatever becomes of what it says.
func startAt(t *testing.T, stderr *os.File, root string, flags ...string) *process {
	t.Helper()
	address := freeAddress(t)
	p := &process{tb: t, url: "http://" + address, done: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}}
	p.cmd = exec.Command(program(t), append([]string{"serve", "--root", root, "--listen", address}, flags...)...)
	p.cmd.Stderr = stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended
	gittest.Await(t, "the server answers", func() bool {
		status, _, err := p.fetch("/healthz")
		return err == nil && status == http.StatusOK
	})
	return p
}

// TestALogThatCannotBeWrittenEndsNothing fills the disk of the log, and closes the pipe that reads it:
// the kernel sends a fatal signal to a process that writes to such a pipe.
func TestALogThatCannotBeWrittenEndsNothing(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }() // nothing was written
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for name, stderr := range map[string]*os.File{"full disk": full, "closed pipe": writer} {
		t.Run(name, func(t *testing.T) {
			if stderr == writer {
				if err := reader.Close(); err != nil {
					t.Fatal(err)
				}
			}
			p := startAt(t, stderr, "../../testrepos", "--log-level", "debug")
			for range 20 { // a line for each
				if status, _, err := p.fetch("/archive/hello/main.tar"); err != nil || status != http.StatusOK {
					t.Fatal(status, err)
				}
			}
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-p.done; err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}

// TestAFullDiskTakesNothingAway has the cache on a real file system that is full: what is
// sent is whole, and the operator sees why it is slower.
func TestAFullDiskTakesNothingAway(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("ABSENT: a full file system, see internal/cache for injected faults: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	for i := range 4 {
		repo.Commit(fmt.Sprint("b", i), gittest.Regular("noise", gittest.SeededNoise(uint64(i), 700_000)))
	}
	p, admin := startWithAdmin(t, root, "--cache-dir", dir, "--cache-bytes", "100MB")
	for range 3 {
		for i := range 4 {
			branch := fmt.Sprint("b", i)
			status, body, err := p.fetch("/archive/repo/" + branch + ".tar")
			if err != nil || status != http.StatusOK || !bytes.Equal(body, repo.Archive("--format=tar", branch)) {
				t.Errorf("%s: %d, %d bytes, %v", branch, status, len(body), err)
			}
		}
	}
	if n := p.number(t, admin, `repomcp_cache_faults_total{part="disk"}`); n == 0 {
		t.Error("no fault of the disk was counted")
	}
	if status, text := p.get(t, admin+"/readyz"); status != http.StatusOK {
		t.Errorf("it is not ready: %d %s", status, text)
	}
}

// TestDescriptorsRunOutAndComeBack lets clients use all descriptors: others get
// a refusal for now, nothing counts as absent or damaged, and the server recovers.
func TestDescriptorsRunOutAndComeBack(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root := t.TempDir()
	const mirrors = 6
	want := []byte(gittest.Noise(8 << 20)) // more than the sockets of a connection hold
	first := gittest.At(t, filepath.Join(root, "m0.git"))
	first.Commit("main", gittest.Regular("large", string(want)))
	first.Git("-c", "core.compression=0", "repack", "-adq")
	for i := 1; i < mirrors; i++ {
		if err := os.CopyFS(filepath.Join(root, fmt.Sprintf("m%d.git", i)), os.DirFS(first.Dir)); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := launchBy(t, "ulimit -n 70;", root, "--max-connections", "1000", "--rescan", "100ms")
	var held []net.Conn
	for i := range 60 { // each in a download that it does not read
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.url, "http://"), time.Second)
		if err != nil {
			break
		}
		defer func() { _ = conn.Close() }() // it is closed below
		held = append(held, conn)
		_, _ = fmt.Fprintf(conn, "GET /raw/m%d/main/large HTTP/1.1\r\nHost: localhost\r\n\r\n", i%mirrors)
	}
	heads := make([]string, len(held))
	var all sync.WaitGroup
	for i, conn := range held {
		all.Go(func() {
			_ = conn.SetReadDeadline(time.Now().Add(3 * time.Second))
			heads[i], _ = bufio.NewReader(conn).ReadString('\n')
		})
	}
	all.Wait()
	counts := map[string]int{}
	for _, head := range heads {
		if match := regexp.MustCompile(` (\d+) `).FindStringSubmatch(head); match != nil {
			counts[match[1]]++
		} else {
			counts["no reply yet"]++
		}
	}
	for kind := range counts {
		if kind != "200" && kind != "503" && kind != "no reply yet" {
			t.Errorf("replies: %v", counts)
		}
	}
	if counts["200"] == len(held) {
		t.Errorf("nothing ran out: %v", counts)
	}
	time.Sleep(300 * time.Millisecond) // the root is scanned meanwhile, without descriptors; no event says so
	for _, conn := range held {
		_ = conn.Close()
	}
	for i := range mirrors {
		if err := gittest.Wait(func() error {
			status, body, err := p.fetch(fmt.Sprintf("/raw/m%d/main/large", i))
			if err == nil && status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Fatalf("m%d: %d %.200s, want 200, or 503 for a while", i, status, body)
			}
			if err != nil || !bytes.Equal(body, want) {
				return fmt.Errorf("m%d: %d, %d bytes of %d, %w", i, status, len(body), len(want), err)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d clients held a connection: %v", len(held), counts)
}
