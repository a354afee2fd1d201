package dotgit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/archive/checkout"
	"github.com/repomcp/repomcp/internal/base/filenames"
	"github.com/repomcp/repomcp/internal/git"
)

// Create makes a repository of the folder in which the archive was received. It lacks the index only,
// which is returned: its entries have no [Stat] yet.
func (in *Incoming) Create(ctx context.Context) (*Index, error) {
	if err := in.describe(); err != nil {
		return nil, err
	}
	if err := in.writeFiles(); err != nil {
		return nil, err
	}
	v, err := in.check(ctx, in.folder, git.ID{}, func(*verifier) error { return nil })
	if err != nil {
		return nil, err
	}
	index := &Index{Entries: make([]Entry, len(v.change.Paths))}
	for i, p := range v.change.Paths {
		index.Entries[i] = Entry{Path: p.Path, Mode: p.New.Mode, ID: p.New.ID}
	}
	index.setFolders(func(path string) (git.ID, bool) {
		tree, ok := v.change.trees[path]
		return tree.id, ok
	})
	return index, nil
}

// check publishes the pack in the folder, and compares all objects with the commit. Contents of the
// working tree that are no objects of the commit are then removed from the pack, and what drop finds unwanted.
func (in *Incoming) check(
	ctx context.Context, root string, base git.ID, drop func(*verifier) error,
) (v *verifier, err error) {
	packs := filepath.Join(in.folder, "objects", "pack")
	name, err := in.pack.publish(packs, !base.IsZero())
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(root, in.folder)
	if err != nil {
		return nil, err
	}
	if err = withSnapshot(root, inside, func(s *git.Snapshot) error {
		v, err = in.verify(ctx, s, base)
		if err == nil {
			err = drop(v)
		}
		return err
	}); err != nil || len(v.unwanted) == 0 {
		return v, err
	}
	smaller, err := in.pack.copyWithout(name+".pack", filepath.Join(in.folder, incomingName), v.unwanted)
	if err != nil {
		return nil, err
	}
	in.pack = smaller
	for _, extension := range packFiles {
		if err := os.Remove(name + extension); err != nil {
			return nil, err
		}
	}
	_, err = smaller.publish(packs, !base.IsZero())
	return v, err
}

// packFiles are the extensions of a pack's files, that of the index last.
var packFiles = []string{".pack", ".rev", ".idx"}

// withSnapshot opens the repository in a folder below a root.
func withSnapshot(root, folder string, use func(*git.Snapshot) error) error {
	store, err := git.NewStore(root, git.StoreOptions{})
	if err != nil {
		return err
	}
	return errors.Join(viewSnapshot(store, folder, use), store.Close())
}

// viewSnapshot opens the repository in a folder of a store.
func viewSnapshot(store *git.Store, folder string, use func(*git.Snapshot) error) error {
	s, err := store.Repository(filepath.ToSlash(folder), git.Options{}).Snapshot()
	if err != nil {
		return err
	}
	return errors.Join(use(s), s.Close())
}

// writeFiles writes all files of a repository but the objects and the index.
func (in *Incoming) writeFiles() error {
	for _, name := range []string{"info", "objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(in.folder, name), 0o777); err != nil { //nolint:gosec // the umask decides
			return err
		}
	}
	files, err := checkout.SmallFiles(in.Ref, in.remote, in.shallow)
	if err != nil {
		return err
	}
	for name, content := range files {
		if name == "config" {
			continue
		}
		if err := in.write(name, content); err != nil {
			return err
		}
	}
	folds := filenames.IsFoldingLetters("HEAD", func(name string) (fs.FileInfo, error) {
		return os.Lstat(filepath.Join(in.folder, name))
	})
	able, err := unpack.AbilitiesOf(in.folder)
	if err != nil {
		return err
	}
	config, err := localConfig(files["config"], folds, able)
	if err != nil {
		return err
	}
	return in.write("config", config)
}

func (in *Incoming) write(name string, content []byte) error {
	at := filepath.Join(in.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil { //nolint:gosec // the umask decides
		return err
	}
	return os.WriteFile(at, content, 0o666) //nolint:gosec // likewise
}

// writeWhole writes a file through a buffer.
func writeWhole(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, packBuffer)
	err = write(out)
	return errors.Join(err, out.Flush(), file.Close())
}
