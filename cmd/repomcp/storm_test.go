package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

const (
	// stormBudget is the memory budget of the server.
	stormBudget = 256 << 20
	// stormSize is about the size of the file: it is rebuilt from a delta and a base of the
	// same size.
	stormSize = 30 << 20
)

// storm is the load of one file: what its clients have seen.
type storm struct {
	url, digest string
	client      *http.Client

	mu       sync.Mutex
	statuses map[int]int
}

// send sends so many requests at once, and reads what comes to its end.
func (s *storm) send(t *testing.T, method string, requests int) (statuses map[int]int) {
	t.Helper()
	s.statuses = make(map[int]int)
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			status, err := s.sendOne(t.Context(), method)
			if err != nil {
				t.Errorf("%s: %v", method, err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.statuses[status]++
		})
	}
	all.Wait()
	if s.statuses[http.StatusOK] == 0 {
		t.Errorf("none of %d times %s was answered with 200: %v", requests, method, s.statuses)
	}
	for status := range maps.Keys(s.statuses) {
		if !slices.Contains([]int{http.StatusOK, http.StatusTooManyRequests, http.StatusServiceUnavailable}, status) {
			t.Errorf("%s: status %d, %d times", method, status, s.statuses[status])
		}
	}
	return s.statuses
}

func (s *storm) sendOne(ctx context.Context, method string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url, nil)
	if err != nil {
		return 0, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }() // only read from
	sum := sha256.New()
	n, err := io.Copy(sum, response.Body)
	if err == nil && method == http.MethodGet && response.StatusCode == http.StatusOK &&
		hex.EncodeToString(sum.Sum(nil)) != s.digest {
		err = fmt.Errorf("%d bytes that are not the file's", n)
	}
	return response.StatusCode, err
}

// TestAStormOnOneDeltaStaysWithinTheBudget asks for a large file that is stored as a
// delta, with a hundred HEADs and then forty downloads at once. Each of them would
// rebuild the file in memory: the server stays within its budget, refuses what is too
// much, and says all along that it is well.
func TestAStormOnOneDeltaStaysWithinTheBudget(t *testing.T) {
	gittest.Long(t)
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	root := t.TempDir()
	path, digest := deltaOf(t, root)
	admin := freeAddress(t)
	p := startPlain(t, root, "--memory-budget", "256MiB", "--log-level", "error", "--admin-listen", admin)
	idle := residentPeak(t, p.cmd.Process.Pid)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	health := make(chan []time.Duration, 1)
	go func() { health <- watchHealth(ctx, t, "http://"+admin+"/healthz") }()

	s := &storm{url: p.url + path, digest: digest, client: &http.Client{Transport: &http.Transport{}}}
	defer s.client.CloseIdleConnections()
	heads := s.send(t, http.MethodHead, 100)
	looked := residentPeak(t, p.cmd.Process.Pid)
	gets := s.send(t, http.MethodGet, 40)
	cancel()
	waits := <-health
	peak := residentPeak(t, p.cmd.Process.Pid)
	t.Logf("%d MiB when idle, %d after the HEADs, %d at most; HEAD %v, GET %v; health asked %d times, worst %v",
		idle>>20, looked>>20, peak>>20, heads, gets, len(waits), waits[len(waits)-1])
	if peak > stormBudget {
		t.Errorf("the process took %d MiB of %d", peak>>20, stormBudget>>20)
	}
	if status, err := s.sendOne(t.Context(), http.MethodGet); status != http.StatusOK || err != nil {
		t.Errorf("afterwards: %d, %v", status, err)
	}
}

// deltaOf makes a repository with two revisions of a large text, packs it, and returns
// the plain URL and the SHA-256 of the revision that is stored as a delta.
func deltaOf(t *testing.T, root string) (path, digest string) {
	t.Helper()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	const digits = 64
	noise := hex.EncodeToString([]byte(gittest.Noise(stormSize / 2)))
	var text strings.Builder
	for at := 0; at < len(noise); at += digits {
		text.WriteString(noise[at:min(at+digits, len(noise))] + "\n")
	}
	content := map[string]string{}
	for _, line := range []string{"one", "two"} {
		changed := text.String() + line + "\n"
		commit := repo.Commit("main", gittest.Regular("large.txt", changed))
		content[commit] = changed
	}
	repo.Git("-c", "core.compression=1", "repack", "-adfq") // in less time
	for commit, text := range content {
		said := repo.GitInput([]byte(commit+":large.txt"), "cat-file", "--batch-check=%(deltabase)")
		if strings.Trim(said, "0\n") != "" {
			sum := sha256.Sum256([]byte(text))
			return "/raw/repo/" + commit + "/large.txt", hex.EncodeToString(sum[:])
		}
	}
	t.Fatal("git has stored neither revision as a delta")
	return "", ""
}
