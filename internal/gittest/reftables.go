package gittest

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reftables are refs as git 2.55 has written them in its format "reftable", which the git of the tests may not
// know: testdata/reftables/make.sh.
//
//go:embed testdata/reftables
var reftables embed.FS

// RefTables makes a bare repository in dir whose refs are in tables: "empty", "small", "stack" (tables that change
// and delete what is in earlier ones), "blocks" and "index" (300 refs), or "sha256", whose objects are missing. The
// tests' git may be unable to read it. listed is what git lists, a line for each ref and HEAD, in order: the name,
// the id, what a tag leads to, and the target of a symbolic ref.
func RefTables(t testing.TB, dir, name string) (repo *Repo, listed []string) {
	t.Helper()
	repo = At(t, dir)
	const by = "a <a@b> 1700000000 +0000"
	tree := repo.Store("tree", "")
	commit := func(message, parent string) string {
		const text = "tree %s\n%sauthor %s\ncommitter %s\n\n%s\n"
		return repo.Store("commit", fmt.Sprintf(text, tree, parent, by, by, message))
	}
	one := commit("one", "")
	commit("two", "parent "+one+"\n")
	repo.Store("tag", fmt.Sprintf("object %s\ntype commit\ntag v1\ntagger %s\n\none\n", one, by))
	// Old programs recognise the repository by these, and read nothing in them.
	for _, path := range []string{"refs/tags", "refs/heads"} {
		if err := os.Remove(filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	repo.WriteFile("refs/heads", []byte("this repository uses the reftable format\n"))
	repo.WriteFile("HEAD", []byte("ref: refs/heads/.invalid\n"))
	repo.WriteFile("config", []byte("[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n"+
		"\trefStorage = reftable\n"))
	return repo, repo.SetRefTables(name)
}

// SetRefTables puts other tables in the place of those of [RefTables], as git does it: the list comes last.
func (r *Repo) SetRefTables(name string) (listed []string) {
	r.t.Helper()
	folder := "testdata/reftables/" + name
	entries, err := reftables.ReadDir(folder)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := reftables.ReadFile(folder + "/" + entry.Name())
		if err != nil {
			r.t.Fatal(err)
		}
		switch entry.Name() {
		case "refs.txt":
			listed = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		case "tables.list": // the last one in order of names
			r.writeWhole("reftable/tables.list", text)
		default:
			r.WriteFile("reftable/"+entry.Name(), text)
		}
	}
	return listed
}
