package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// listRefs is a request of version 2 for the refs with one of the prefixes.
func listRefs(prefixes ...string) string {
	request := packetLine("command=ls-refs\n") + packetLine("object-format=sha1") + "0001" +
		packetLine("peel\n") + packetLine("symrefs\n") + packetLine("unborn\n")
	for _, prefix := range prefixes {
		request += packetLine("ref-prefix " + prefix + "\n")
	}
	return request + "0000"
}

// uploadPackWhole returns the whole reply to a request.
func (p *process) uploadPackWhole(t *testing.T, name, body string) (status int, reply string) {
	t.Helper()
	response := p.uploadPack(t.Context(), t, name, body)
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(all)
}

// uploadPack is the reply of the mirror's own git, which hides the same refs.
func (m gitMirror) uploadPack(t *testing.T, body string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "-c", "uploadpack.hideRefs=refs/stash", "-c",
		"lsrefs.unborn=advertise", "upload-pack", "--stateless-rpc", m.Dir)
	command.Env, command.Stdin = append(gittest.Env(), "GIT_PROTOCOL=version=2"), strings.NewReader(body)
	var said bytes.Buffer
	command.Stderr = &said
	reply, err := command.Output()
	if err != nil {
		t.Fatal(err, said.String())
	}
	return string(reply)
}

// manyPrefixes are more than a server compares each ref with.
func manyPrefixes() (prefixes []string) {
	for i := range 200 {
		prefixes = append(prefixes, fmt.Sprintf("refs/heads/topic/%d", i))
	}
	return prefixes
}

func TestGitListsRefsByPrefix(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	mirror.Git("update-ref", "refs/pull/1/head", "main~5")
	mirror.Git("update-ref", "refs/heads/topic/loose", "main~6")
	detached := gitMirror{Repo: gittest.At(t, filepath.Join(root, "detached.git"))}
	detached.Commit("main", gittest.Regular("f", "1"))
	detached.Git("update-ref", "--no-deref", "HEAD", "main")
	unborn := gitMirror{Repo: gittest.At(t, filepath.Join(root, "unborn.git"))}
	unborn.Commit("other", gittest.Regular("f", "1"))
	p := start(t, root)
	cases, refs := 0, 0
	for name, m := range map[string]gitMirror{"app": mirror, "detached": detached, "unborn": unborn} {
		for _, prefixes := range [][]string{
			nil, {""}, {"r"}, {"refs"}, {"refs/"}, {"HEAD"}, {"refs/heads/"}, {"HEAD", "refs/heads/", "refs/tags/"},
			{"refs/heads/topic/2"}, {"refs/heads/topic"}, {"refs/heads/topic/20", "refs/heads/", "refs/heads/topic/"},
			{"refs/heads/main", "refs/heads/main/", "refs/heads/main/x"}, {"refs/t", "refs/h"}, {"refs/pull"}, {"refs/pull/"}, {"refs/stash"}, {"refs/internal/"}, {"refs/internal/x"},
			{"main", "refs/main", "refs/tags/main", "refs/heads/main", "refs/remotes/main", "refs/remotes/main/HEAD"},
			{"refs/tags/nested"}, {"refs/../app.git/refs/heads/"}, {"refs//heads/"}, {"/refs/heads/"}, {"refs/none/"},
			{"refs/heads/./"}, {"../"}, {"objects/"}, {"refs/tags/v1", "refs/tags/v10", "refs/tags/v10^{}"},
			manyPrefixes(),
		} {
			request := listRefs(prefixes...)
			status, reply := p.uploadPackWhole(t, name, request)
			if want := m.uploadPack(t, request); status != http.StatusOK || reply != want {
				t.Errorf("%s, refs with %.200q: status %d\n%s\nwant\n%s", name, prefixes, status, reply, want)
			}
			cases++
			refs += strings.Count(reply, "\n")
		}
	}
	if cases != 87 || refs < 150 {
		t.Errorf("%d cases with %d refs", cases, refs)
	}
}

// A ref without its object harms the lists that have it, and no others.
func TestGitListsNoRefOfAnObjectThatIsMissing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	mirror.WriteFile("refs/pull/1/head", []byte(strings.Repeat("1", 40)+"\n"))
	p := start(t, root)
	for prefix, want := range map[string]int{
		"refs/heads/": http.StatusOK, "refs/pull/2/": http.StatusOK,
		"refs/pull/": http.StatusInternalServerError, "refs/": http.StatusInternalServerError,
	} {
		request := listRefs(prefix)
		status, reply := p.uploadPackWhole(t, "app", request)
		if status != want || status == http.StatusOK && reply != mirror.uploadPack(t, request) {
			t.Errorf("refs with %s: %d %s", prefix, status, reply)
		}
	}
}
