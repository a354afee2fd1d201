package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestGitAsksWhoAClientIs(t *testing.T) {
	t.Parallel()
	binary, root, folder := program(t), t.TempDir(), t.TempDir()
	for _, name := range []string{"public/app", "private/app"} {
		gittest.At(t, filepath.Join(root, name+".git")).Commit("main", gittest.Regular("a", name))
	}
	tokens, rules := filepath.Join(folder, "tokens"), filepath.Join(folder, "access.yaml")
	out, err := exec.CommandContext(t.Context(), binary, "token", "new", "alice", "--group", "staff", "--tokens", tokens).Output()
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(out))
	if err := os.WriteFile(rules, []byte("rules:\n- groups: [staff]\n  repositories: [\"public/**\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := start(t, root, "--tokens", tokens, "--access", rules).url
	g := gitClient{t: t}
	withToken := strings.Replace(url, "http://", "http://anybody:"+token+"@", 1)
	for name, args := range map[string][]string{
		"a password": {"clone", "-q", withToken + "/git/public/app"},
		"a header":   {"-c", "http.extraHeader=Authorization: Bearer " + token, "clone", "-q", url + "/git/public/app"},
		"a helper": {"-c", "credential.helper=!f() { echo username=x; echo password=" + token + "; }; f", "clone", "-q",
			url + "/git/public/app"},
	} {
		clone := filepath.Join(t.TempDir(), "clone")
		g.must(root, append(args, clone)...)
		if got, err := os.ReadFile(filepath.Join(clone, "a")); err != nil || string(got) != "public/app" {
			t.Errorf("a clone with %s: %v %s", name, err, got)
		}
	}
	for name, address := range map[string]string{
		"nothing": url, "a wrong token": strings.Replace(withToken, token, token[:len(token)-4]+"AAAA", 1),
	} {
		said, err := g.try(root, "ls-remote", address+"/git/public/app")
		if err == nil || !strings.Contains(said, "could not read Username") && !strings.Contains(said, "Authentication failed") {
			t.Errorf("with %s: %v %s", name, err, said)
		}
	}
	// One may not tell what is forbidden from what is not there.
	names := regexp.MustCompile(`private/(app|none)|X-Request-Id:\[[^]]*\]|Date:\[[^]]*\]`)
	for _, request := range []struct{ method, path string }{
		{"GET", "/info/refs?service=git-upload-pack"}, {"GET", "/info/refs?service=git-receive-pack"}, {"GET", "/info/refs"},
		{"POST", "/git-upload-pack"}, {"POST", "/git-receive-pack"}, {"GET", ""}, {"GET", "/HEAD"}, {"GET", "/objects/info/packs"},
	} {
		var replies []string
		for _, name := range []string{"app", "none"} {
			asked, err := http.NewRequestWithContext(t.Context(), request.method, url+"/git/private/"+name+request.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			asked.Header = http.Header{
				"Authorization": {"Bearer " + token}, "Content-Type": {"application/x-git-upload-pack-request"},
			}
			response, err := http.DefaultClient.Do(asked)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close() // only read from
			if err != nil || response.StatusCode != http.StatusNotFound {
				t.Errorf("%v of %s: %s %v", request, name, response.Status, err)
			}
			replies = append(replies, names.ReplaceAllString(fmt.Sprint(response.Status, response.Header, string(body)), "-"))
		}
		if replies[0] != replies[1] {
			t.Errorf("%v: a forbidden repository:\n%s\nan unknown one:\n%s", request, replies[0], replies[1])
		}
	}
}

func TestGitRequestsAreBounded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := gittest.At(t, filepath.Join(root, "app.git"))
	commit := mirror.Commit("main", gittest.Regular("a", "1"))
	p := start(t, root)
	zipped := func(content string, times int) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		for range times {
			if _, err := io.WriteString(w, content); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	line := packetLine(strings.Repeat("x", 60_000))
	for name, c := range map[string]struct {
		body, encoding string
		status         int
		has            string
	}{
		"plain":              {wantAll(commit), "", 200, "PACK"},
		"gzip":               {zipped(wantAll(commit), 1), "gzip", 200, "PACK"},
		"cut gzip":           {zipped(wantAll(commit), 1)[:40], "gzip", 400, ""},
		"not gzip":           {wantAll(commit), "gzip", 400, "gzip"},
		"zstd":               {wantAll(commit), "zstd", 415, "gzip"},
		"a bomb":             {zipped(line, 1000), "gzip", 413, "in parts"},
		"a long one":         {strings.Repeat(line, 600), "", 413, "in parts"},
		"cut":                {wantAll(commit)[:60], "", 400, "truncated"},
		"no protocol":        {"hello, this is no request", "", 400, "malformed"},
		"a want without id":  {packetLine("want 1234\n") + "0000", "", 400, "malformed"},
		"an unknown command": {packetLine("command=evil") + "0000", "", 200, "ERR upload-pack: invalid command"},
		"an unserved want":   {wantAll(strings.Repeat("12", 20)), "", 200, "ERR upload-pack: not our ref"},
		"a refused filter": {packetLine("command=fetch") + "0001" + packetLine("filter sparse:oid="+commit) +
			packetLine("want "+commit) + packetLine("done") + "0000", "", 200, "ERR"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/git/app/git-upload-pack",
			strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Content-Type": {"application/x-git-upload-pack-request"}, "Git-Protocol": {"version=2"}}
		if c.encoding != "" {
			request.Header.Set("Content-Encoding", c.encoding)
		}
		response, err := p.client.Do(request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // only read from
		if err != nil || response.StatusCode != c.status || !bytes.Contains(body, []byte(c.has)) {
			t.Errorf("%s: %s %v %.200q, want %d and %q", name, response.Status, err, body, c.status, c.has)
		}
	}
	// A client that shares little sends much of what it has.
	clone := filepath.Join(t.TempDir(), "clone")
	g := gitClient{t: t}
	g.must(root, "init", "-q", "--bare", clone)
	own := gittest.Existing(t, clone)
	var history strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&history, "commit refs/heads/own\ncommitter A <a@example.com> %d +0000\ndata 2\n%d\n", 1_800_000_000+i, i%10)
	}
	own.GitInput([]byte(history.String()), "fast-import", "--quiet")
	g.must(clone, "fetch", "-q", p.url+"/git/app", "main:main")
	if got := g.must(clone, "rev-parse", "main"); got != commit {
		t.Errorf("main is %s, want %s", got, commit)
	}
}

// A clone beyond the limit is refused with the time of the next try, and git shows the status to its user.
func TestGitRequestsBeyondTheLimitAreRefused(t *testing.T) {
	gittest.Long(t)
	root := t.TempDir()
	mirror := gittest.At(t, filepath.Join(root, "large.git"))
	commit := mirror.Commit("main", gittest.Regular("large", gittest.Noise(24<<20)))
	p := start(t, root, "--max-streams", "1", "--queue-time", "1ms")
	leave := p.beginFetch(t, "large", wantAll(commit))
	response := p.uploadPack(t.Context(), t, "large", wantAll(commit))
	_ = response.Body.Close() // its status is enough
	busy := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
	if !busy || response.Header.Get("Retry-After") == "" {
		t.Errorf("the second clone: %s %v, want 429 or 503 with Retry-After", response.Status, response.Header)
	}
	g, clone := gitClient{t: t}, filepath.Join(t.TempDir(), "clone")
	if said, err := g.try(root, "clone", "-q", p.url+"/git/large", clone); err == nil ||
		!strings.Contains(said, "429") && !strings.Contains(said, "503") {
		t.Errorf("the second clone by git: %v %s", err, said)
	}
	leave()
	for deadline := time.Now().Add(30 * time.Second); ; {
		said, err := g.try(root, "clone", "-q", p.url+"/git/large", clone)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a clone after the first client has gone: %v %s", err, said)
		}
	}
}
