package checkout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/git"
)

// Clone makes a working clone of a download: an archive of [ProfileCheckout]. The folder must not exist, or be empty.
// It appears when everything has arrived and was compared with the commit.
func Clone(ctx context.Context, in io.Reader, dir string, o unpack.Options) (report unpack.Report, err error) {
	entries, err := os.ReadDir(dir)
	if len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return report, errors.Join(err, fmt.Errorf("%s has files: %w", dir, ErrOccupied))
	}
	stage, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".repomcp-")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	tree := filepath.Join(stage, "tree")
	if err := os.Mkdir(tree, 0o777); err != nil { //nolint:gosec // the umask decides
		return report, err
	}
	incoming, err := dotgit.Receive(filepath.Join(tree, ".git"))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, incoming.Close()) }()
	if report, err = receive(ctx, in, tree, incoming, o); err != nil {
		return report, err
	}
	index, err := incoming.Create(ctx)
	if err != nil {
		return report, err
	}
	if err := index.Examine(tree); err != nil {
		return report, err
	}
	if err := index.WriteFile(filepath.Join(tree, ".git", "index")); err != nil {
		return report, err
	}
	if entries != nil {
		if err := os.Remove(dir); err != nil {
			return report, err
		}
	}
	return report, os.Rename(tree, dir)
}

// receive unpacks the archive of a checkout into a new folder.
func receive(
	ctx context.Context, in io.Reader, dir string, incoming *dotgit.Incoming, o unpack.Options,
) (unpack.Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return unpack.Report{}, err
	}
	o.Unseen, o.Times, o.Git, o.Copy = true, true, incoming.Member, incoming.Copy
	o.Choose = func(m unpack.Member, _ io.Reader) (unpack.Choice, error) {
		return unpack.Choice{}, incoming.Choose(m)
	}
	o.Done = func(w unpack.Written) error {
		incoming.Done(w.Path, w.ID)
		return nil
	}
	o.Comment = func(text string) error {
		id, err := git.ParseID(text)
		if err != nil {
			return fmt.Errorf("%w: its commit %.80q is none", client.ErrDamaged, text)
		}
		incoming.Commit = id
		return nil
	}
	report, err := unpack.New(root, o).Tar(ctx, in)
	return report, errors.Join(err, root.Close())
}
