package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// The git of this machine may be too old for a mirror whose refs are in tables, and still clones it from the server.
func TestMirrorsWithRefTablesAreServed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror, listed := gittest.RefTables(t, filepath.Join(root, "app.git"), "small")
	p := start(t, root)
	g := gitClient{t, nil}
	expect := func(listed []string) {
		t.Helper()
		var want []string
		for _, line := range listed {
			fields := strings.Split(line, " ")
			want = append(want, fields[1]+"\t"+fields[0])
			if fields[2] != "" {
				want = append(want, fields[2]+"\t"+fields[0]+"^{}")
			}
		}
		if got := g.must(root, "ls-remote", p.url+"/git/app"); got != strings.Join(want, "\n") {
			t.Errorf("ls-remote says\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
		clone := filepath.Join(t.TempDir(), "clone")
		g.must(root, "clone", "-q", "--mirror", p.url+"/git/app", clone)
		g.must(clone, "fsck", "--strict")
		head := strings.Split(listed[0], " ")[1]
		log := map[string]any{"name": "list_commits", "arguments": map[string]any{"repo": "app"}}
		reply, err := p.message("tools/call", "list_commits", log)
		if err != nil || !strings.Contains(string(reply), head) {
			t.Errorf("the history does not begin with %s: %v, %s", head, err, reply)
		}
	}
	expect(listed)
	expect(mirror.SetRefTables("index")) // a push
	expect(mirror.SetRefTables("stack"))
}
