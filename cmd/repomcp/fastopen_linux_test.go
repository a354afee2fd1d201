package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheFirstRequestOpensTheConnection counts, as the kernel does, the connections that
// began with a request, between processes in a network of their own.
func TestTheFirstRequestOpensTheConnection(t *testing.T) {
	enterNetwork(t)
	_, said := launchWith(t, "", nil, "--listen", "127.0.0.1:0")
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	said.await(t, address)
	url := "http://" + address.FindString(said.String())
	folder := filepath.Join(t.TempDir(), "folder")
	for i, run := range []struct {
		flags []string
		began int // with a request
	}{
		{[]string{"--fast-open"}, 0}, // asks for a cookie
		{[]string{"--fast-open"}, 1},
		{nil, 0},
		{[]string{"--fast-open"}, 1},
	} {
		sent, taken := fastOpened(t)
		arguments := append([]string{"sync", url + "/mcp", "hello", folder}, run.flags...)
		if out, err := exec.CommandContext(t.Context(), program(t), arguments...).CombinedOutput(); err != nil {
			t.Fatalf("%d: %v: %s", i, err, out)
		}
		nowSent, nowTaken := fastOpened(t)
		if nowSent-sent != run.began || nowTaken-taken != run.began {
			t.Errorf("%d: %q: %d requests were sent at once and %d taken, want %d", i, run.flags, nowSent-sent,
				nowTaken-taken, run.began)
		}
	}
}

// enterNetwork puts the test's thread, and the processes that it starts, into a network
// of their own where the kernel allows both sides.
func enterNetwork(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("a network of one's own is for root: ", err)
	}
	const both = "3"
	if err := os.WriteFile("/proc/sys/net/ipv4/tcp_fastopen", []byte(both), 0); err != nil {
		t.Skip("the kernel's settings are not to be changed here: ", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(socket) }()
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		t.Fatal(err)
	}
}

// fastOpened reads how many connections were opened with bytes, and taken so.
func fastOpened(t *testing.T) (sent, taken int) {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/net/netstat")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	names, values := strings.Fields(lines[0]), strings.Fields(lines[1])
	count := make(map[string]int)
	for i, name := range names {
		count[name], _ = strconv.Atoi(values[i]) // but for the first, which is the title
	}
	return count["TCPFastOpenActive"], count["TCPFastOpenPassive"]
}
