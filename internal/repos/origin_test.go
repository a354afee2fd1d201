package repos_test

import (
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

func TestOriginHasNoCredentials(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"":                                     "",
		"https://git.example/a/b.git":          "https://git.example/a/b.git",
		"https://me:secret@git.example/b.git":  "https://git.example/b.git",
		"https://secret@git.example:8443/b":    "https://git.example:8443/b",
		"ssh://git:secret@git.example:22/b":    "ssh://git@git.example:22/b",
		"git@git.example:a/b.git":              "git@git.example:a/b.git",
		"/srv/secret/b.git":                    "",
		"file:///srv/secret/b.git":             "",
		"../secret/b.git":                      "",
		"ext::sh -c secret":                    "",
		"https://git.example/b?token=secret":   "",
		"https://me:sec%ret@git.example/b.git": "",
	} {
		repo := gittest.At(t, t.TempDir()+"/r.git")
		repo.Commit("main", gittest.Regular("a", "1"))
		repo.Git("config", "remote.origin.url", origin)
		r, err := repostest.Open(t, repo.Dir+"/..", repos.Options{}).Get("r")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Origin(); got != want || err != nil {
			t.Errorf("of %q: %q, %v, want %q", origin, got, err, want)
		}
		repo.WriteFile("config", []byte("[remote\n"))
		if got, err := r.Origin(); err == nil {
			t.Errorf("of a configuration that cannot be parsed: %q", got)
		}
	}
}
