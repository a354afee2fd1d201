package httpx_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestArchiveWithABaseSaysWhichOneItIs(t *testing.T) {
	s := serve(t)
	repo := s.repo("repo")
	files := []gittest.File{gittest.Regular("a", "1")}
	for i := range 30 {
		files = append(files, gittest.Regular(fmt.Sprintf("same/%d", i), "x"))
	}
	base := repo.Commit("main", files...)
	repo.Git("tag", "v1", base)
	files[0] = gittest.Regular("a", "2")
	head := repo.Commit("main", files...)
	unknown := strings.Repeat("a", 40)
	full, delta := "repo://repo/archive/"+head+".tar", "repo://repo/archive/"+head+".tar?base="+base
	for _, c := range []struct {
		uri, canonical string
		immutable      bool
	}{
		{full, full, true},
		{delta, delta, true},
		{delta + "&fallback=full", delta, true},
		{full + "?base=v1", delta, false},
		{"repo://repo/archive/main.tar?base=" + base, delta, false},
		{full + "?base=" + unknown + "&fallback=full", full, false},
		{full + "?fallback=full", full, true},
		{full + "?base=&fallback=", full, true},
	} {
		response := s.modern("resources/stream", map[string]any{"uri": c.uri})
		content := text(t, response)
		immutable := strings.Contains(response.Header.Get("Cache-Control"), "immutable")
		if response.StatusCode != http.StatusOK || response.Header.Get("Mcp-Resource-Uri") != c.uri ||
			response.Header.Get("Content-Location") != c.canonical || immutable != c.immutable {
			t.Errorf("%s: %d %v", c.uri, response.StatusCode, response.Header)
		}
		if c.canonical == delta != strings.Contains(content, ".repomcp/manifest.json") {
			t.Errorf("%s is not the archive that it says", c.uri)
		}
	}
}

func TestFullArchiveNeededIsSaidBeforeTheFirstByte(t *testing.T) {
	s := serve(t)
	repo := s.repo("repo")
	base := repo.Commit("main", gittest.Regular("a", "1"))
	repo.Commit("main", gittest.Regular(".gitattributes", ""))
	for base, reason := range map[string]string{"nothing": "base unknown", base: "attributes changed"} {
		for _, method := range []string{"resources/stream", "resources/read"} {
			response := s.modern(method, map[string]any{"uri": "repo://repo/archive/main.tar?base=" + base})
			reply := text(t, response)
			for _, want := range []string{`"code":-32602`, `"reason":"full_needed"`, `"cause":"` + reason + `"`,
				"fallback=full"} {
				if !strings.Contains(reply, want) {
					t.Errorf("%s, base %s: no %s in %s", method, base, want, describe(response, reply))
				}
			}
		}
		want := map[string]int{"base unknown": http.StatusNotFound, "attributes changed": http.StatusConflict}[reason]
		response, err := s.client.Get(s.url + "/archive/repo/main.tar?base=" + base)
		if err != nil {
			t.Fatal(err)
		}
		reply := text(t, response)
		if response.StatusCode != want || !strings.Contains(reply, "fallback=full") {
			t.Errorf("GET with base %s: %s", base, describe(response, reply))
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
