package tree

import (
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// attributesFile defines how the files of a folder are archived.
	attributesFile = ".gitattributes"
	// maxAttributesBytes bounds that file, because its rules take up to fifty times as much memory.
	// Those of real trees have some kilobytes.
	maxAttributesBytes = 1 << 20
)

// Rules determine the treatment of the entries of one folder: by the attributes of the repository,
// of the parent folders, and its own.
type Rules struct {
	stack *attributes.Stack // nil: attributes are ignored
	use   Use
	lfs   bool // pointers are replaced by their objects
}

// newRules returns the rules above a repository's root, with its info/attributes.
func (o *Options) newRules(info []byte) *Rules {
	r := &Rules{use: o.Attributes, lfs: o.LFS}
	if o.Attributes != ForNothing {
		r.stack = attributes.NewStack(info)
	}
	return r
}

// Push applies the attributes of a folder; path is relative to the repository's root, with a final
// slash.
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

// Pop returns to the parent folder.
func (r *Rules) Pop() {
	if r.stack != nil {
		r.stack.Pop()
	}
}

// Treatment returns the treatment of an entry of the current folder, unless the entry is ignored.
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

// AttributesFile returns the entry with a folder's attributes.
func AttributesFile(entries []git.TreeEntry) (git.TreeEntry, bool) {
	return firstOf(entries, isAttributesFile)
}

// isAttributesFile reports whether an entry contains attributes. Like git 2.39 it accepts a link,
// whose target is the content.
func isAttributesFile(e git.TreeEntry) bool {
	return e.Name == attributesFile && (e.Mode.IsRegular() || e.Mode.IsSymlink())
}

// readAttributes reads such an entry. Like git, it treats a too large one as empty.
func readAttributes(source Source, id git.ID) ([]byte, error) {
	content, err := source.ReadBlob(id, maxAttributesBytes, nil)
	if !errors.Is(err, git.ErrTooLarge) {
		return content, git.MustExist(id, err)
	}
	if size, err := source.Size(id); err != nil || size >= attributes.MaxFile {
		return nil, git.MustExist(id, err)
	}
	return nil, fmt.Errorf("%w: a .gitattributes of more than %d bytes", ErrLimit, maxAttributesBytes)
}
