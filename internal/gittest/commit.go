package gittest

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// looseObjects is up to how many git fast-import leaves each in a file.
	looseObjects = 100
	// looseBytes is how much content is compressed here; of more, git's own
	// compression takes less time than its process costs.
	looseBytes = 32 << 10
)

// commitLoosely does what git fast-import does for a small commit in a repository
// whose objects are all loose, to the same ids and files, without a process. It is not ok where git
// has to decide: paths that are in each other's way, odd modes, a branch that another program
// has moved.
func (r *Repo) commitLoosely(ref, message string, date int, files []File) (id string, ok bool) {
	if !r.made || !areOrdinary(files) {
		return "", false
	}
	if packs, err := os.ReadDir(filepath.Join(r.Dir, "objects/pack")); err != nil || len(packs) > 0 {
		return "", false
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "objects/info/alternates")); err == nil {
		return "", false
	}
	parent := ""
	if r.has(ref) {
		if at, err := os.ReadFile(filepath.Join(r.Dir, ref)); err != nil || string(at) != r.heads[ref]+"\n" {
			return "", false
		}
		parent = "parent " + r.heads[ref] + "\n"
	}
	by := fmt.Sprintf("A U Thor <author@example.com> %d +0000\n", date)
	id = r.storeOnce("commit", "tree "+r.storeTree(files)+"\n"+parent+"author "+by+"committer "+by+"\n"+message)
	r.writeWhole(ref, []byte(id+"\n"))
	return id, true
}

// areOrdinary reports whether there is no doubt about what a tree of files is, and it is
// small.
func areOrdinary(files []File) bool {
	bytes, taken := 0, make(map[string]bool) // files are true, and folders false
	for _, f := range files {
		if _, twice := taken[f.Path]; twice || !slices.Contains([]string{"100644", "100755", "120000", "160000"},
			f.Mode) {
			return false
		}
		if _, err := hex.DecodeString(f.Content); f.Mode == "160000" && (err != nil || len(f.Content) != 40) {
			return false
		}
		for part := range strings.SplitSeq(f.Path, "/") {
			if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
				return false
			}
		}
		for i, c := range f.Path {
			if c != '/' {
				continue
			}
			if taken[f.Path[:i]] {
				return false
			}
			taken[f.Path[:i]] = false
		}
		taken[f.Path] = true
		bytes += len(f.Content)
	}
	const rootAndCommit = 2
	return len(taken)+rootAndCommit <= looseObjects && bytes <= looseBytes
}

// storeTree stores files with the folders that they are in.
func (r *Repo) storeTree(files []File) string {
	inside := make(map[string][]File)
	var names []string // as git sorts them: those of folders with a slash
	for _, f := range files {
		name, below, folder := strings.Cut(f.Path, "/")
		if folder {
			name += "/"
		}
		if inside[name] == nil {
			names = append(names, name)
		}
		inside[name] = append(inside[name], File{below, f.Mode, f.Content})
	}
	slices.Sort(names)
	var tree strings.Builder
	for _, name := range names {
		f := inside[name][0]
		mode, id := f.Mode, f.Content
		folder := strings.HasSuffix(name, "/")
		switch {
		case folder:
			mode, id = "40000", r.storeTree(inside[name])
		case mode != "160000":
			id = r.storeOnce("blob", f.Content)
		}
		raw, _ := hex.DecodeString(id) // areOrdinary has looked at those of gitlinks
		fmt.Fprintf(&tree, "%s %s\x00%s", mode, strings.TrimSuffix(name, "/"), raw)
	}
	return r.storeOnce("tree", tree.String())
}
