package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestMain lets the test's own program be the peers, as the benchmark's is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-peer" {
		main()
		return
	}
	os.Exit(m.Run())
}

// tinyScale takes seconds.
func tinyScale() scale {
	return scale{
		name: "tiny", tree: []string{"errors", "sort", "strings"}, small: []string{"errors"}, commits: 6, smallCommits: 2,
		files: 150, curve: []int{20, 50}, bigBytes: 300 << 10, rounds: 2, longRounds: 1, crowds: []int{1, 3},
	}
}

func TestMeasuresEverythingAndReports(t *testing.T) {
	mirror := gittest.At(t, filepath.Join(t.TempDir(), "mine.git"))
	mirror.Commit("main", gittest.Regular("a", "text\n"), gittest.Symlink("link", "a"), gittest.Executable("run", "#!/bin/sh\n"))
	document := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(document, []byte("# Performance\n\n"+archivesPart.begin()+archivesPart.end()+searchPart.begin()+searchPart.end()+"\nthe rest\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := settings{scale: tinyScale(), dir: t.TempDir(), output: document, mirror: mirror.Dir, command: "go run ./internal/benchmark"}
	var log bytes.Buffer
	if err := benchmark(t.Context(), s, nil, &log); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	written, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	text := string(written)
	// Eight repositories in all, two of them for the curve alone.
	if n := strings.Count(text, "the same tar as git's, to the byte"); n != 7 {
		t.Errorf("%d repositories have git's tar, want 7", n)
	}
	for _, want := range []string{"the mirror mine", "### Cost by the number of files", "| 3 | repomcp over HTTP", "the rest", "## Search beside git grep", "repomcp, searched before"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if n := strings.Count(text, "lines, the same as git's"); n != len(wantings()) {
		t.Errorf("%d searches found git's lines:\n%s", n, text)
	}
	if strings.Contains(text, "failed") || strings.Contains(text, s.dir) {
		t.Errorf("the report has a failure or a path of the machine:\n%s", text)
	}
	checkCache(t, s)
	checkPeers(t, filepath.Join(s.dir, "tiny", keyHistory, "repo.git"))
}

// checkCache proves that what was generated is used again, and has the form
// that it is measured for.
func checkCache(t *testing.T, s settings) {
	t.Helper()
	git, err := gitOutput(t.Context(), "", "version")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range corpora(s) {
		if c.key == keyMirror {
			continue
		}
		c.generate = func(context.Context, string) error { return fmt.Errorf("%s is generated again", c.title) }
		if err := c.prepare(t.Context(), s, git, func(string) {}); err != nil {
			t.Error(err)
		}
		if err := c.prepare(t.Context(), s, "another git", func(string) {}); err == nil {
			t.Errorf("%s is kept for another git", c.title)
		}
		if c.key == keyTree {
			break // making one anew is enough
		}
	}
	loose, err := gitOutput(t.Context(), filepath.Join(s.dir, "tiny", keyLoose, "repo.git"), "count-objects", "-v")
	if err != nil || !strings.Contains(loose, "in-pack: 0\n") || strings.Contains(loose, "count: 0\n") {
		t.Errorf("(d) is not loose: %s, %v", loose, err)
	}
	chains, err := exec.Command("sh", "-c", "git verify-pack -v "+filepath.Join(s.dir, "tiny", keyHistory, "repo.git/objects/pack/*.idx")).Output()
	if err != nil || !strings.Contains(string(chains), "chain length = 2") {
		t.Errorf("(b) has no deltas: %v", err)
	}
}

// checkPeers proves that all peers read the same, and what git has.
func checkPeers(t *testing.T, dir string) {
	t.Helper()
	listing, err := gitOutput(t.Context(), dir, "ls-tree", "-r", "-l", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	var want tally
	for line := range strings.Lines(listing) {
		var size int64
		if _, err := fmt.Sscan(strings.Fields(line)[3], &size); err != nil {
			t.Fatal(err)
		}
		want.blobs, want.bytes = want.blobs+1, want.bytes+size
	}
	for _, kind := range []string{peerGoGitBlobs, peerOwnBlobs, peerOwnBlobsOne, peerOwnAlike, peerOwnSizes} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-peer", kind, dir}, &out, nil); err != nil {
			t.Errorf("%s: %v", kind, err)
		} else if got := strings.TrimSpace(out.String()); got != want.String() {
			t.Errorf("%s found %s, git %s", kind, got, want)
		}
	}
}

func TestAFailingProcessIsAFailure(t *testing.T) {
	for name, stages := range map[string][]stage{
		"alone":         {{"git", []string{"no-such-command"}}},
		"first of two":  {{"git", []string{"no-such-command"}}, {"gzip", []string{"-c"}}},
		"not installed": {{"git", []string{"version"}}, {"/nonexistent/program", nil}},
	} {
		if u, err := runProcesses(t.Context(), 2, stages...); err == nil {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func TestAPipelineIsMeasuredWhole(t *testing.T) {
	u, err := runProcesses(t.Context(), 3, stage{"git", []string{"version"}}, stage{"gzip", []string{"-c", "-n"}})
	if err != nil {
		t.Fatal(err)
	}
	if u.wall <= 0 || u.cpu <= 0 || u.first <= 0 || u.first > u.wall || u.bytes == 0 || u.bytes%3 != 0 {
		t.Errorf("three pipelines gave %+v", u)
	}
}

func TestSettings(t *testing.T) {
	s, err := parseSettings([]string{"-rounds", "2", "-only", "a,crowd", "-dir", t.TempDir(), "-o", "-"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.command != "go run ./internal/benchmark -only a,crowd -rounds 2" {
		t.Errorf("the command is %q", s.command)
	}
	if s.scale.rounds != 2 || s.scale.longRounds != 2 || !s.wants(keyCrowd) || s.wants(keyBig) {
		t.Errorf("settings are %+v", s)
	}
	for _, bad := range [][]string{{"-only", "z"}, {"-rounds", "-1"}, {"file"}, {"-peer", "go-git"}} {
		if _, err := parseSettings(bad, &bytes.Buffer{}); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}
