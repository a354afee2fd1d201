package remote

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/commands/cli"
)

// The likely URI of a name comes first: the longest repository, and the shortest ref.
func TestNamesHaveURIsInOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"lib":  {"repo://lib/contents"},
		"lib/": {"repo://lib/contents"},
		"a/b/c": {
			"repo://a/b/c/contents", "repo://a/b/contents/c", "repo://a/contents/b/c",
		},
		"lib@main":      {"repo://lib/sha/main/contents"},
		"group/lib@v1":  {"repo://group/lib/sha/v1/contents"},
		"lib@main/x y":  {"repo://lib/sha/main/contents/x%20y", "repo://lib/refs/tags/main/x%20y/contents", "repo://lib/refs/heads/main/x%20y/contents"},
		"lib@fix/a/b.c": {"repo://lib/sha/fix/contents/a/b.c", "repo://lib/refs/tags/fix/a/contents/b.c", "repo://lib/refs/heads/fix/a/contents/b.c", "repo://lib/refs/tags/fix/a/b.c/contents", "repo://lib/refs/heads/fix/a/b.c/contents"},
		"lib@refs/heads/fix/a": {
			"repo://lib/refs/heads/fix/contents/a", "repo://lib/refs/heads/fix/a/contents",
		},
		"lib@HEAD~1/a":              {"repo://lib/sha/HEAD~1/contents/a", "repo://lib/refs/tags/HEAD~1/a/contents", "repo://lib/refs/heads/HEAD~1/a/contents"},
		"repo://lib/contents/a@b?c": {"repo://lib/contents/a@b?c"},
		"what?#%":                   {"repo://what%3F%23%25/contents"},
	} {
		if got := parseName(text).contents(); !slices.Equal(got, want) {
			t.Errorf("%q has the URIs\n%q, want\n%q", text, got, want)
		}
	}
}

func TestDownloadsAreAnArchiveOrAFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, format, first, file string
	}{
		{"group/lib", "tar.gz", "repo://group/lib/archive/HEAD.tar.gz", "lib.tar.gz"},
		{"lib@v1.0", "zip", "repo://lib/archive/v1.0.zip", "lib-v1.0.zip"},
		{"lib@fix/a", "tar.zst", "repo://lib/archive/fix/a.tar.zst", "lib-fix-a.tar.zst"},
		{"repo://lib/archive/main.tar?path=src", "tar.gz", "repo://lib/archive/main.tar?path=src", "main.tar"},
		{"repo://lib/contents/dir/a.txt", "tar.gz", "repo://lib/contents/dir/a.txt", "a.txt"},
	} {
		n := parseName(c.text)
		uris := n.downloads(c.format)
		if uris[0] != c.first || n.file(uris[0]) != c.file {
			t.Errorf("%q: %q in %q, want %q in %q", c.text, uris[0], n.file(uris[0]), c.first, c.file)
		}
		if !n.isURI && !slices.Equal(uris[1:], n.contents()) {
			t.Errorf("%q: after the archive %q, want %q", c.text, uris[1:], n.contents())
		}
	}
	n := parseName("lib@main/dir/a.txt")
	if file := n.file(n.contents()[0]); file != "a.txt" {
		t.Errorf("a file is saved as %q, want a.txt", file)
	}
}

func TestFormatsAreThoseOfFileNames(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"": "tar.gz", "-": "tar.gz", "lib": "tar.gz", "a.tar.gz": "tar.gz", "a.tgz": "tgz", "a.tar": "tar",
		"x.zip/a.tar.zst": "tar.zst", "a.zip": "zip", "a.manifest.json": "manifest.json", "a.tar.xz": "tar.xz",
		"a.txt": "tar.gz", "tar": "tar.gz",
	} {
		if got := formatOf(file); got != want {
			t.Errorf("the format of %q is %s, want %s", file, got, want)
		}
	}
}

// The server is the first argument or a setting. A scheme is guessed on this machine alone.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting  string
		args     []string
		endpoint string // "" where it is refused
		rest     []string
		says     string
	}{
		{"", []string{"https://git.example"}, "https://git.example/mcp", []string{}, ""},
		{"", []string{"https://git.example/"}, "https://git.example/mcp", []string{}, ""},
		{"", []string{"https://git.example/x/mcp", "lib"}, "https://git.example/x/mcp", []string{"lib"}, ""},
		{"", []string{"wss://git.example"}, "wss://git.example/ws", []string{}, ""},
		{"", []string{"stdio:repomcp stdio", "lib"}, "stdio:repomcp stdio", []string{"lib"}, ""},
		{"", []string{"127.0.0.1:8080", "lib"}, "http://127.0.0.1:8080/mcp", []string{"lib"}, ""},
		{"", []string{"localhost:80"}, "http://localhost:80/mcp", []string{}, ""},
		{"", []string{"[::1]:8080"}, "http://[::1]:8080/mcp", []string{}, ""},
		{"https://git.example", []string{"lib"}, "https://git.example/mcp", []string{"lib"}, ""},
		{"localhost:80", nil, "http://localhost:80/mcp", nil, ""},
		{"https://git.example", []string{"https://other.example", "lib"}, "https://other.example/mcp", []string{"lib"}, ""},
		{"", []string{"git.example:8080"}, "", nil, "write https://git.example:8080 or http://git.example:8080"},
		{"git.example:8080", []string{"lib"}, "", nil, "write https://git.example:8080 or http://git.example:8080"},
		{"", []string{"git.example"}, "", nil, "https://git.example or http://git.example"},
		{"", nil, "", nil, "REPOMCP_URL"},
	} {
		r := &target{url: c.setting}
		rest, err := r.endpoint(c.args)
		switch {
		case c.endpoint == "":
			if err == nil || !strings.Contains(err.Error(), c.says) || ExitCode(err) != cli.ExitUsage {
				t.Errorf("%q with %q: %v, want a mistake of usage with %q", c.args, c.setting, err, c.says)
			}
		case err != nil || r.url != c.endpoint || !slices.Equal(rest, c.rest):
			t.Errorf("%q with %q: %q, %q, %v, want %q, %q", c.args, c.setting, r.url, rest, err, c.endpoint, c.rest)
		}
	}
}

// An address may grant access: people are shown its server alone.
func TestAnAddressIsNotShown(t *testing.T) {
	t.Parallel()
	const address = "https://git.example/dl/secret"
	s, err := new(target).source([]string{address})
	if err != nil || s.address != address || s.what != "https://git.example" {
		t.Errorf("%+v, %v, want the address with its server for people", s, err)
	}
	if s, err = (&target{url: "https://git.example"}).source([]string{"lib@main/a"}); err != nil || s.address != "" ||
		s.what != "lib@main/a" || !slices.Equal(s.uris, parseName("lib@main/a").contents()) {
		t.Errorf("%+v, %v, want a name", s, err)
	}
	if _, err := new(target).source([]string{"https://git.example", "a", "b"}); ExitCode(err) != cli.ExitUsage {
		t.Errorf("two names: %v, want a mistake of usage", err)
	}
}

func TestErrorsArePutForPeople(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		says    string
		leaves  string // what it must not have
		code    int
		absents bool
	}{
		{&client.Error{Operation: "resources/read", Code: -32002, Reason: "not_found", Message: "Use resources/list."},
			"repomcp ls URL", "resources/", cli.ExitRefused, true},
		{&client.Error{Operation: "resources/read", Code: -32602, Reason: "invalid_uri",
			Message: "Take URIs from resources/list."}, "repomcp ls URL", "resources/", cli.ExitRefused, true},
		{&client.Error{Operation: "resources/stream", Code: -32003, Reason: "stream_not_supported", Message: "x"},
			"--extract", "resources/", cli.ExitRefused, false},
		{fmt.Errorf("resources/stream: %w: the peer is away", client.ErrNetwork), client.ErrNetwork.Error(),
			"resources/", cli.ExitNetwork, false},
		{fmt.Errorf("resources/stream: %w", client.ErrDamaged), client.ErrDamaged.Error(), "resources/",
			cli.ExitDamaged, false},
		{fmt.Errorf("x: %w", client.ErrNoList), "repomcp cat", "x:", cli.ExitFailed, false},
		{fmt.Errorf("x: %w", client.ErrNotVerified), "proxy", "x:", cli.ExitDamaged, false},
		{&unpack.RefusedError{Reason: unpack.Clash, Paths: []string{"A", "a"}}, "--exclude", "unpack:",
			cli.ExitDamaged, false},
		{&unpack.RefusedError{Reason: unpack.Outside, Paths: []string{"a"}}, "--allow-external-symlinks", "unpack:",
			cli.ExitDamaged, false},
		{errors.New("another"), "another", "lib:", cli.ExitFailed, false},
	} {
		err := forPeople("lib", c.err)
		if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), c.leaves) {
			t.Errorf("%v is put as %q, want %q and not %q", c.err, err, c.says, c.leaves)
		}
		if again := forPeople("other", err); again.Error() != err.Error() && !strings.Contains(c.leaves, "lib") {
			t.Errorf("%q is put again as %q", err, again)
		}
		if ExitCode(err) != c.code || isAbsent(c.err) != c.absents {
			t.Errorf("%v: exit code %d, absent %t, want %d, %t", c.err, ExitCode(err), isAbsent(c.err), c.code, c.absents)
		}
	}
	if err := forPeople("lib", nil); err != nil {
		t.Errorf("no error is put as %v", err)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		cli.ExitUsage: fmt.Errorf("x: %w", cli.Misused(errors.New("y"))), cli.ExitKept: fmt.Errorf("x: %w", errKept),
		cli.ExitFailed: errors.New("x"),
	} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
	for code, want := range exitCodes {
		if want < cli.ExitUsage || want > cli.ExitLocked {
			t.Errorf("%s has the exit code %d, which the help does not name", code, want)
		}
	}
	if exitCodes[checkout.CodeLocked] != cli.ExitLocked {
		t.Errorf("a locked folder has the exit code %d, want %d", exitCodes[checkout.CodeLocked], cli.ExitLocked)
	}
}
