package dotgit

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// folder is a folder in the cache tree of an index: the tree object that its entries would make.
// The list has each folder before those in it.
type folder struct {
	path    string // with a final slash, "" for the root
	id      git.ID
	valid   bool // otherwise id is unknown
	entries int  // below it
	folders int  // in it
}

// parseFolders reads the extension. A malformed one is as good as none.
func parseFolders(content []byte) (list []folder) {
	type level struct {
		path string
		left int
	}
	open := []level{{left: 1}}
	for len(content) > 0 {
		for len(open) > 0 && open[len(open)-1].left == 0 {
			open = open[:len(open)-1]
		}
		name, rest, ok := bytes.Cut(content, []byte{0})
		line, rest, named := bytes.Cut(rest, []byte{'\n'})
		entries, folders, numbers := strings.Cut(string(line), " ")
		f := folder{}
		var err, other error
		f.entries, err = strconv.Atoi(entries)
		f.folders, other = strconv.Atoi(folders)
		if f.valid = f.entries >= 0; f.valid && len(rest) >= len(f.id) {
			f.id, rest = git.ID(rest), rest[len(f.id):]
		} else if f.valid {
			return nil
		}
		if !ok || !named || !numbers || err != nil || other != nil || f.folders < 0 || len(open) == 0 {
			return nil
		}
		outer := &open[len(open)-1]
		outer.left--
		if len(list) > 0 {
			f.path = outer.path + string(name) + "/"
		}
		list, content = append(list, f), rest
		open = append(open, level{f.path, f.folders})
	}
	return list
}

func appendFolders(b []byte, list []folder) []byte {
	for _, f := range list {
		name := strings.TrimSuffix(f.path, "/")
		b = append(append(b, name[strings.LastIndexByte(name, '/')+1:]...), 0)
		entries := f.entries
		if !f.valid {
			entries = -1
		}
		b = append(strconv.AppendInt(b, int64(entries), 10), ' ')
		b = append(strconv.AppendInt(b, int64(f.folders), 10), '\n')
		if f.valid {
			b = append(b, f.id[:]...)
		}
	}
	return b
}

// setFolders makes the cache tree anew. tree returns the tree of a folder, by its path with a final
// slash; ok is false if the entries differ from it, or it is unknown.
func (x *Index) setFolders(tree func(path string) (id git.ID, ok bool)) {
	b := &folderBuilder{tree: tree}
	b.enter("")
	for _, e := range x.Entries {
		b.add(e)
	}
	for len(b.open) > 0 {
		b.leave()
	}
	x.folders = b.list
}

type folderBuilder struct {
	tree func(string) (git.ID, bool)
	list []folder
	open []int // of the list
}

func (b *folderBuilder) top() *folder { return &b.list[b.open[len(b.open)-1]] }

func (b *folderBuilder) enter(path string) {
	f := folder{path: path}
	f.id, f.valid = b.tree(path)
	b.open = append(b.open, len(b.list))
	b.list = append(b.list, f)
}

// leave returns to the folder around the last one.
func (b *folderBuilder) leave() {
	left := *b.top()
	b.open = b.open[:len(b.open)-1]
	if len(b.open) > 0 {
		outer := b.top()
		outer.entries += left.entries
		outer.folders++
		outer.valid = outer.valid && left.valid
	}
}

func (b *folderBuilder) add(e Entry) {
	for !strings.HasPrefix(e.Path, b.top().path) {
		b.leave()
	}
	for at := len(b.top().path); ; {
		length := strings.IndexByte(e.Path[at:], '/')
		if length < 0 {
			break
		}
		at += length + 1
		b.enter(e.Path[:at])
	}
	f := b.top()
	f.entries++
	f.valid = f.valid && e.Stage == 0 && !e.IntentToAdd
}
