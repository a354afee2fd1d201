package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/gittest"
)

// evil sets the title of a terminal, clears it, turns the line around, and goes on in the
// next as the program itself would: C0, C1, bidirectional and invalid bytes.
const evil = "x\x1b]0;pwned\x07\x1b[2J\u009b31m\u202e\u200b\xff\x7f\r\nrepomcp: all is well"

// command runs a command line of a client, away from what this machine has set.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	home := t.TempDir()
	code = run(t.Context(), args, func(name string) (string, bool) {
		return home, name == "XDG_CONFIG_HOME"
	}, &out, &said)
	return code, out.String(), said.String()
}

// isHarmless fails where a terminal would do more than show a text, or a line passes for
// one of the program's own.
func isHarmless(t *testing.T, what, shown string) {
	t.Helper()
	unseen := func(r rune) bool { return quoting.Unseen(r) && r != '\n' && r != '\t' }
	if !utf8.ValidString(shown) || strings.ContainsFunc(shown, unseen) || strings.Contains(shown, "\nrepomcp: all") {
		t.Errorf("%s: a terminal is shown %q", what, shown)
	}
	if len(shown) > 64<<10 {
		t.Errorf("%s: %d bytes are shown", what, len(shown))
	}
}

// speaking is a server that answers every message with an error of its choice.
func speaking(t *testing.T, message string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": -32602,
			"message": message, "data": map[string]any{"reason": "other"}}}) // it never fails
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

func TestErrorsOfServersAreHarmless(t *testing.T) {
	t.Parallel()
	for _, message := range []string{evil, strings.Repeat(evil, 30_000)} {
		url := speaking(t, message)
		dir := t.TempDir()
		for _, args := range [][]string{
			{"ls", url}, {"ls", url, "repo://x"}, {"cat", url, "repo://x/contents/y"},
			{"get", url, "repo://x/archive/main.tar", "-o", filepath.Join(dir, "x")},
			{"sync", url, "x", filepath.Join(dir, "y")},
		} {
			code, stdout, stderr := command(t, args...)
			if code == 0 || !strings.Contains(stderr, "pwned") {
				t.Errorf("%q ends with %d: %q", args, code, stderr)
			}
			isHarmless(t, fmt.Sprint(args), stderr+stdout)
			_, stdout, stderr = command(t, append(args, "--json")...)
			isHarmless(t, fmt.Sprint(args, " --json"), stderr+stdout)
		}
	}
}

// A committer chooses the names of files.
func TestNamesOfFilesAreHarmless(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "app.git"))
	repo.Commit("main", gittest.Regular("n\x1b]0;pwned\x07m", "1\n"), gittest.Regular("a\u202eb", "1\n"),
		gittest.Regular("a\xffb", "1\n"), gittest.Regular("ordinary name.txt", "1\n"), gittest.Regular(".envrc\n/x", "1\n"))
	p := start(t, root)
	code, stdout, _ := command(t, "ls", p.url, "repo://app/contents")
	if want := `".envrc\n"` + "\n" + `"a\342\200\256b"` + "\n" + `a` + "\ufffd" + "b\n" + `"n\033]0;pwned\am"` +
		"\nordinary name.txt\n"; code != 0 || stdout != want {
		t.Errorf("ls ends with %d: %q, want %q", code, stdout, want)
	}
	code, stdout, _ = command(t, "ls", "-l", p.url, "repo://app/contents")
	isHarmless(t, "ls -l", stdout)
	if code != 0 || strings.Count(stdout, "\n") != 5 {
		t.Errorf("ls -l ends with %d: %q", code, stdout)
	}
	_, stdout, _ = command(t, "ls", "--json", p.url, "repo://app/contents")
	isHarmless(t, "ls --json", stdout)
	named := false
	for line := range strings.Lines(stdout) {
		var entry struct{ Name string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		named = named || entry.Name == "a\u202eb"
	}
	if !named {
		t.Errorf("programs are not given the name: %q", stdout)
	}
	dir := t.TempDir()
	for _, flags := range [][]string{{"--dry-run"}, {}, {"--json"}} {
		// The name is in the way, and kept.
		if err := os.WriteFile(filepath.Join(dir, "n\x1b]0;pwned\x07m"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stdout, stderr := command(t, append([]string{"sync", p.url + "/mcp", "app@main", dir, "--into-existing"}, flags...)...)
		isHarmless(t, fmt.Sprint("sync ", flags), stdout+stderr)
		if !strings.Contains(stdout+stderr, "pwned") {
			t.Errorf("sync %q says %q, %q", flags, stdout, stderr)
		}
	}
}

// A server says in the archive which commit that is of.
func TestTheCommitOfAnArchiveIsHarmless(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, h := range []*tar.Header{
		{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": strings.
			ToValidUTF8(evil, "")}},
		{Typeflag: tar.TypeReg, Name: ".envrc", Mode: 0o644},
	} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-tar")
		w.Header().Set("Content-Length", fmt.Sprint(archive.Len()))
		_, _ = w.Write(archive.Bytes())
	}))
	t.Cleanup(server.Close)
	for _, flags := range [][]string{{}, {"--json"}} {
		_, stdout, stderr := command(t, append([]string{"sync", server.URL + "/mcp", "x", t.TempDir()}, flags...)...)
		isHarmless(t, fmt.Sprint("sync ", flags), stdout+stderr)
		_, stdout, stderr = command(t, append([]string{"get", server.URL + "/x.tar", "--extract", "-o", t.TempDir()},
			flags...)...)
		isHarmless(t, fmt.Sprint("get ", flags), stdout+stderr)
	}
}

// A program is quoted when it fails, in what it wrote beside its messages and in them.
func TestWordsOfProgramsAreHarmless(t *testing.T) {
	t.Parallel()
	said := filepath.Join(t.TempDir(), "said")
	if err := os.WriteFile(said, []byte(evil), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"standard error": `cat "$0" >&2; exit 1`, "no message": `cat "$0"`,
		"words of an abort": `read -r line; id='\200\0\0\0\0\0\100\0\200\0\0\0\0\0\0\1'
			printf '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}\n'
			read -r line
			printf '{"jsonrpc":"2.0","id":2,"result":{"contents":[{"uri":"repo://x","binaryRef":{"streamId":"80000000-0000-4000-8000-000000000001","size":-1}}]}}\n'
			printf '{"jsonrpc":"2.0","method":"notifications/binary/aborted","params":{"streamId":"80000000-0000-4000-8000-000000000001","message":"x\\u001b]0;pwned\\u0007\\u202e"}}\n'
			cat >/dev/null`,
	} {
		endpoint := "stdio:sh -c '" + strings.ReplaceAll(script, "'", `"`) + "' " + said
		if name == "words of an abort" {
			file := filepath.Join(filepath.Dir(said), "script")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			endpoint = "stdio:sh " + file
		}
		code, stdout, stderr := command(t, "cat", endpoint, "repo://x", "--retries", "0")
		if code == 0 || !strings.Contains(stderr, "pwned") {
			t.Errorf("%s: %d, %q", name, code, stderr)
		}
		isHarmless(t, name, stdout+stderr)
	}
}
