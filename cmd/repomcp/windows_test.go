package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repomcp/repomcp/internal/gittest"
)

// windows runs the program for Windows.
type windows struct {
	t        *testing.T
	launcher string // has Wine run a program of Windows
	binary   string
	url      string
}

// newWindows builds the program. The variable REPOMCP_WINE names the launcher: see .ci/windows.
func newWindows(t *testing.T, root string) *windows {
	t.Helper()
	launcher := os.Getenv("REPOMCP_WINE")
	if launcher == "" {
		t.Skip("REPOMCP_WINE names no launcher")
	}
	w := &windows{t: t, launcher: launcher, binary: filepath.Join(t.TempDir(), "repomcp.exe"), url: start(t, root).url + "/mcp"}
	build := exec.Command("go", "build", "-trimpath", "-o", w.binary, ".")
	build.Env = append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return w
}

// run runs a command and returns its exit code, and what it says.
func (w *windows) run(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	var out, said bytes.Buffer
	command := exec.CommandContext(w.t.Context(), w.launcher, append([]string{w.binary}, args...)...)
	command.Stdout, command.Stderr = &out, &said
	err := command.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		w.t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), out.String(), said.String()
}

// succeeds fails the test unless a command has the exit code 0.
func (w *windows) succeeds(args ...string) {
	w.t.Helper()
	if code, _, said := w.run(args...); code != 0 {
		w.t.Errorf("%q: code %d: %s", args, code, said)
	}
}

// files are the contents of the files of a folder, by path, without those of repomcp and git.
func (w *windows) files(dir string) map[string]string {
	w.t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if name := filepath.Base(at); name == ".git" || name == ".repomcp" {
				return filepath.SkipDir
			}
			return err
		}
		content, err := os.ReadFile(at)
		found[strings.TrimPrefix(at, dir+"/")] = string(content)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func contentsOf(files []gittest.File) map[string]string {
	contents := make(map[string]string)
	for _, f := range files {
		contents[f.Path] = f.Content
	}
	return contents
}

// TestWindowsKeepsFoldersInStep, and clones, while names change their case, and files become folders.
func TestWindowsKeepsFoldersInStep(t *testing.T) {
	root := t.TempDir()
	w := newWindows(t, root)
	repo, file := gittest.At(t, filepath.Join(root, "app.git")), gittest.Regular
	large := gittest.Noise(300_000)
	steps := [][]gittest.File{
		{file("README", "1"), gittest.Executable("run.sh", "#!"), gittest.Symlink("link", "README"), file("d/\u00c9", "1"),
			file("d/b c", "1"), file("large", large), file("f", "1")},
		{file("Readme", "1"), gittest.Executable("run.sh", "2"), gittest.Symlink("link", "Readme"), file("d/\u00e9", "1"),
			file("d/b c", "2"), file("large", large+"more"), file("f/x", "1")},
		{file("readme/in", "1"), file("D", "1"), file("large", "more"+large), file("F/X", "2")},
	}
	ways := map[string][]string{"difference": nil, "whole": {"--submodules"}, "clone": {"--checkout"}}
	for i, files := range steps {
		repo.Commit("main", files...)
		want := contentsOf(files)
		for way, flags := range ways {
			dir := filepath.Join(root, way)
			w.succeeds(append([]string{"sync", w.url, "app@main", dir}, flags...)...)
			if has := w.files(dir); !maps.Equal(has, want) {
				t.Errorf("%s, step %d: there are %.300q", way, i, has)
			}
		}
		clone := gittest.Existing(t, filepath.Join(root, "clone"))
		if status := clone.Git("status", "--porcelain"); status != "" || clone.Git("rev-parse", "HEAD") != repo.Git("rev-parse", "main") {
			t.Errorf("step %d: git status: %s", i, status)
		}
		got := filepath.Join(root, "got")
		w.succeeds("get", w.url, "app@main", "--extract", "-o", got)
		if has := w.files(got); !maps.Equal(has, want) {
			t.Errorf("get, step %d: there are %.300q", i, has)
		}
		if err := os.RemoveAll(got); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWindowsServesOverStdio, as a bundle of a desktop does, what git has committed meanwhile as well.
func TestWindowsServesOverStdio(t *testing.T) {
	root := t.TempDir()
	w := newWindows(t, root)
	repo := gittest.At(t, filepath.Join(root, "group", "app.git"))
	repo.Commit("main", gittest.Regular("dir/a.go", "package a\n\n// Answer is the answer.\nfunc Answer() int { return 42 }\n"))
	command := exec.CommandContext(t.Context(), w.launcher, w.binary, "stdio", "--root", root)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(within(t), &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	says := func(tool, want string, arguments map[string]any) {
		t.Helper()
		called, err := session.CallTool(within(t), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil || called.IsError || len(called.Content) == 0 {
			t.Fatalf("%s: %v, %+v", tool, err, called)
		}
		if text, _ := called.Content[0].(*mcp.TextContent); text == nil || !strings.Contains(text.Text, want) {
			t.Errorf("%s: %+v", tool, text)
		}
	}
	says("get_file_contents", "return 42", map[string]any{"repo": "group/app", "path": "dir/a.go"})
	says("search_code", "dir/a.go", map[string]any{"query": "repo:group/app answer"})
	repo.Commit("main", gittest.Regular("dir/a.go", "package a\n"), gittest.Regular("NEW", "news"))
	says("get_file_contents", "news", map[string]any{"repo": "group/app", "path": "NEW"})
	says("list_commits", repo.Git("rev-parse", "--short", "main"), map[string]any{"repo": "group/app"})
	says("search_code", "NEW", map[string]any{"query": "repo:group/app news"})
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// TestWindowsKeepsEdits until they may be overwritten, and refuses names that Windows has no files of.
func TestWindowsKeepsEdits(t *testing.T) {
	root := t.TempDir()
	w := newWindows(t, root)
	repo := gittest.At(t, filepath.Join(root, "app.git"))
	repo.Commit("main", gittest.Regular("a", "1"), gittest.Regular("b", "1"))
	dir := filepath.Join(root, "in")
	w.succeeds("sync", w.url, "app@main", dir)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	repo.Commit("main", gittest.Regular("a", "2"), gittest.Regular("b", "2"))
	if code, _, said := w.run("sync", w.url, "app@main", dir); code != 3 || !strings.Contains(said, "kept a: edited") {
		t.Errorf("code %d: %s", code, said)
	}
	if has := w.files(dir); !maps.Equal(has, map[string]string{"a": "mine", "b": "2"}) {
		t.Errorf("there are %q", has)
	}
	w.succeeds("sync", w.url, "app@main", dir, "--theirs", "a")
	if has := w.files(dir); !maps.Equal(has, map[string]string{"a": "2", "b": "2"}) {
		t.Errorf("there are %q", has)
	}
	repo.Commit("main", gittest.Regular("a", "2"), gittest.Regular("aux.txt", "1"))
	if code, _, said := w.run("sync", w.url, "app@main", dir); code != 6 || !strings.Contains(said, `"aux.txt": refused`) {
		t.Errorf("code %d: %s", code, said)
	}
	if code, out, said := w.run("cat", w.url, "app@main/aux.txt"); code != 0 || out != "1" {
		t.Errorf("code %d: %q %s", code, out, said)
	}
}
