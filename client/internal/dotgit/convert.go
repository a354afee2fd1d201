package dotgit

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/convert"
	"github.com/repomcp/repomcp/internal/git"
)

// converter makes the contents that git checkout writes of the files of a commit, by the attributes
// in its tree.
type converter struct {
	ctx      context.Context
	snapshot *git.Snapshot
	tree     git.ID
	stack    *attributes.Stack // of the folder
	folder   string
}

// mostAttributes is the largest .gitattributes that servers read.
const mostAttributes = 1 << 20

// content returns the id of the content that a file has in the working tree.
func (c *converter) content(at string, id git.ID) (git.ID, error) {
	if err := c.enter(path.Dir(at)); err != nil {
		return git.ID{}, err
	}
	conversion, ok := convert.DecideCheckout(c.stack.Lookup([]byte(at), false))
	if !ok {
		return id, nil
	}
	size, err := c.snapshot.Size(id)
	if err != nil {
		return git.ID{}, err
	}
	source := convert.Source{Size: size, Open: func() (io.ReadCloser, error) { return c.snapshot.Blob(c.ctx, id) }}
	measured, err := conversion.Measure(c.ctx, source, id.String())
	if err != nil {
		return git.ID{}, err
	}
	sum := unpack.NewHash(measured.Size())
	if err := measured.CopyTo(sum); err != nil {
		return git.ID{}, err
	}
	return git.ID(sum.Sum(nil)), nil
}

// enter reads the attributes of a folder and of those around it.
func (c *converter) enter(folder string) error {
	if c.stack != nil && folder == c.folder {
		return nil
	}
	stack, inside := attributes.NewStack(nil), ""
	names := []string{"."}
	if folder != "." {
		names = append(names, strings.Split(folder, "/")...)
	}
	for _, name := range names {
		if name != "." {
			inside += name + "/"
		}
		content, err := c.read(inside + ".gitattributes")
		if err != nil {
			return err
		}
		stack.Push([]byte(inside), content)
	}
	c.stack, c.folder = stack, folder
	return nil
}

func (c *converter) read(at string) ([]byte, error) {
	e, err := c.snapshot.Lookup(c.tree, at)
	if errors.Is(err, git.ErrNotFound) || err == nil && !e.Mode.IsRegular() && !e.Mode.IsSymlink() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.snapshot.ReadBlob(e.ID, mostAttributes, nil)
}
