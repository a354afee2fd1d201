package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/base/operatorfile"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestAccessRulesAreFollowed(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "access.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	const only = "rules:\n- anybody: true\n  repositories: [%]\n"
	write(strings.Replace(only, "%", "hello", 1))
	p, said := launchWith(t, "", nil, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--access", file)
	p.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := said.Await(t, `listening on (http://\S+),`)[1]
	sees := func(name string, want int) {
		t.Helper()
		status, body := p.get(t, url+"/refs/"+name)
		if status != want {
			t.Errorf("%s: %d, want %d: %s", name, status, want, body)
		}
	}
	sees("hello", http.StatusOK)
	sees("fork", http.StatusNotFound)
	if status, body := p.get(t, url+"/repositories"); status != http.StatusOK || !strings.Contains(body, `"count":1,`) {
		t.Errorf("%d: %s", status, body)
	}

	write(strings.Replace(only, "%", "fork", 1))
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	said.Await(t, `read again" file="access rules"`)
	sees("hello", http.StatusNotFound)
	sees("fork", http.StatusOK)

	write("rules: [\n") // it is followed without a signal, too
	said.Await(t, `level=ERROR .*file="access rules"`)
	sees("hello", http.StatusNotFound)
	sees("fork", http.StatusOK)

	// A file that is cut off is ignored, even after a signal, and logged.
	whole := strings.Replace(only, "%", "hello]\n  scopes: [none", 1)
	if err := os.WriteFile(file, []byte(whole[:strings.Index(whole, "\n  scopes")]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	said.Await(t, `level=ERROR .*file="access rules".*the last line has no end`)
	sees("hello", http.StatusNotFound)
	sees("fork", http.StatusOK)
	admin := said.Await(t, adminAt)[1]
	refused := regexp.MustCompile(`(?m)^file "access rules" is refused, .* has no end`)
	if status, text := p.get(t, admin+"/readyz?verbose"); status != http.StatusOK || !refused.MatchString(text) {
		t.Errorf("readiness while a file is refused: %d %s", status, text)
	}

	before := time.Now()
	write(strings.Replace(only, "%", "hello, fork", 1))
	said.Await(t, `(?s)level=ERROR .*level=INFO msg="a file was read again" file="access rules"`)
	if took := time.Since(before); took > 10*operatorfile.Settling {
		t.Errorf("a change was followed after %v", took)
	}
	sees("hello", http.StatusOK)
	sees("fork", http.StatusOK)
	if _, text := p.get(t, admin+"/readyz?verbose"); refused.MatchString(text) {
		t.Errorf("readiness when the file is good again: %s", text)
	}
	p.stop(t)
}
