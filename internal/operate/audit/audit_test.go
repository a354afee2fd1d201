package audit

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// exchange is a message that called a tool for a repository.
func exchange(t *testing.T, outcome string, code int) mcp.Exchange {
	t.Helper()
	ctx, account := resources.WithAccount(access.WithPrincipal(t.Context(), access.Principal{ID: "token:a"}), false)
	account.Call(ctx, "get_file_contents", "lib", "main", "x")
	if outcome == mcp.OutcomeError {
		account.Fail(code)
	}
	request := &mcp.Request{}
	request.Method, request.ID, request.Params.URI = "tools/call", json.RawMessage("1"), "https://host/dl/secret"
	return mcp.Exchange{Transport: "stdio", Method: request.Method, Outcome: outcome,
		Details: mcp.Details{Request: request, Account: account}}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	log, err := Open(Options{File: file, Logger: slog.New(slog.DiscardHandler),
		Rule: func(p access.Principal, name string) int { return len(p.ID) + len(name) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		outcome string
		code    int
		want    string
	}{
		{mcp.OutcomeDone, 0, "done"}, {mcp.OutcomeError, 0, "refused"}, {mcp.OutcomeError, -32602, "refused"},
		{mcp.OutcomeError, codeInternal, "failed"}, {mcp.OutcomeAborted, 0, "aborted"},
	} {
		log.Message(exchange(t, test.outcome, test.code))
		content, err := os.ReadFile(file)
		if err != nil || os.Remove(file) != nil {
			t.Fatal(err)
		}
		var got line
		if err := json.Unmarshal(content, &got); err != nil {
			t.Fatalf("%v: %s", err, content)
		}
		if got.Outcome != test.want || got.Code != test.code || got.Rule != 10 || got.Repository != "lib" ||
			got.Principal != "token:a" || got.Path != "x" || got.Ref != "main" {
			t.Errorf("%s with %d is written as %s, want %s", test.outcome, test.code, content, test.want)
		}
		if strings.Contains(string(content), "secret") {
			t.Errorf("a link is written: %s", content)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// Names are as long as they are: an auditor has to find the file.
func TestLongNamesAreWhole(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	log, err := Open(Options{File: file, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m := exchange(t, mcp.OutcomeDone, 0)
	repository, path := strings.Repeat("group/", 40)+"lib", strings.Repeat("folder/", 400)+"file"
	m.Details.Account.Call(t.Context(), "get_file_contents", repository, "main", path)
	log.Message(m)
	content, err := os.ReadFile(file)
	var got line
	if err != nil || json.Unmarshal(content, &got) != nil || got.Repository != repository || got.Path != path {
		t.Errorf("%v: the line is %s, want the whole names", err, content)
	}
	for _, attribute := range m.Details.Account.Attributes() {
		if len(attribute.Value.String()) > 100 {
			t.Errorf("the log line has %d bytes of %s, want it clipped", len(attribute.Value.String()), attribute.Key)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// Lines that cannot be written are told of once, and counted.
func TestLostLinesAreCounted(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "logs")
	file := filepath.Join(folder, "log")
	var said bytes.Buffer
	options := Options{File: file, Logger: slog.New(slog.NewTextHandler(&said, nil))}
	if _, err := Open(options); err == nil {
		t.Error("a log in a folder that does not exist is opened, want an error at the start")
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		log.Message(exchange(t, mcp.OutcomeDone, 0))
	}
	if n := strings.Count(said.String(), "cannot be written"); n != 1 {
		t.Errorf("%d errors are logged, want 1: %s", n, &said)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	log.Message(exchange(t, mcp.OutcomeDone, 0))
	if !strings.Contains(said.String(), "lost_lines=3") {
		t.Errorf("the log says %s, want the number of lost lines", &said)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != permissions {
		t.Errorf("%v, %v, want a new file that others cannot read", info, err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// Many requests and rotations at a time lose no line and tear none.
func TestLinesAreWhole(t *testing.T) {
	t.Parallel()
	const writers, each, rotations = 8, 200, 20
	folder := t.TempDir()
	file := filepath.Join(folder, "log")
	log, err := Open(Options{File: file, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for range each {
				log.Message(exchange(t, mcp.OutcomeDone, 0))
			}
		})
	}
	for i := range rotations {
		if err := os.Rename(file, filepath.Join(folder, string(rune('a'+i)))); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}
	running.Wait()
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	entries, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, name := range entries {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for text := range bytes.Lines(content) {
			if count++; !json.Valid(text) {
				t.Errorf("a line is %s", text)
			}
		}
	}
	if want := writers * each; count != want {
		t.Errorf("%d lines were written in %d files, want %d", count, len(entries), want)
	}
}
