package tree

import (
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// attributesFile is where a folder says how its files are archived.
	attributesFile = ".gitattributes"
	// maxAttributesBytes bounds that file: its rules take up to fifty times as
	// much memory. Those of real trees have some kilobytes.
	maxAttributesBytes = 1 << 20
)

// Rules say how the entries of one folder are treated: by the attributes of the
// repository, of the folders above, and its own.
type Rules struct {
	stack *attributes.Stack // nil: attributes do not count
	use   Use
	lfs   bool // pointers stand for their objects
}

// newRules are those above a repository's root, with its info/attributes.
func (o *Options) newRules(info []byte) *Rules {
	r := &Rules{use: o.Attributes, lfs: o.LFS}
	if o.Attributes != ForNothing {
		r.stack = attributes.NewStack(info)
	}
	return r
}

// Push makes the attributes of a folder count; path is its own below the
// repository's root, with a final slash.
func (r *Rules) Push(source Source, path []byte, entries []git.TreeEntry) error {
	if r.stack == nil {
		return nil
	}
	var content []byte
	if e, ok := AttributesFile(entries); ok {
		var err error
		if content, err = readAttributes(source, e.ID); err != nil {
			return err
		}
	}
	r.stack.Push(path, content)
	return nil
}

// Pop goes back to the folder above.
func (r *Rules) Pop() {
	if r.stack != nil {
		r.stack.Pop()
	}
}

// Treatment is that of an entry of the innermost folder, unless the entry is
// left out.
func (r *Rules) Treatment(path []byte, mode git.Mode) (t *Treatment, ignored bool) {
	switch {
	case r.stack == nil && r.lfs && mode.IsRegular():
		return mayBePointer, false
	case r.stack == nil || r.stack.Quiet():
		return nil, false
	}
	found := r.stack.Lookup(path, mode.IsDir() || mode.IsGitlink())
	return treat(mode, found, r.use, r.lfs), r.use == ForArchive && found[attributes.ExportIgnore].IsSet()
}

// AttributesFile finds the entry with a folder's attributes.
func AttributesFile(entries []git.TreeEntry) (git.TreeEntry, bool) {
	return firstOf(entries, isAttributesFile)
}

// isAttributesFile reports whether a folder's entry says how files are archived.
// Like git 2.39 it takes the target of a link for the file's content.
func isAttributesFile(e git.TreeEntry) bool {
	return e.Name == attributesFile && (e.Mode.IsRegular() || e.Mode.IsSymlink())
}

// readAttributes reads such an entry. Like git, it takes one that is too large
// for an empty one.
func readAttributes(source Source, id git.ID) ([]byte, error) {
	content, err := source.ReadBlob(id, maxAttributesBytes, nil)
	if !errors.Is(err, git.ErrTooLarge) {
		return content, Damaged(err)
	}
	if size, err := source.Size(id); err != nil || size >= attributes.MaxFile {
		return nil, Damaged(err)
	}
	return nil, fmt.Errorf("%w: a .gitattributes of more than %d bytes", ErrLimit, maxAttributesBytes)
}
