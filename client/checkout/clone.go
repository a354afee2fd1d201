package checkout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/git"
)

// gitFolder has the repository of a clone.
const gitFolder = ".git"

// clone is a clone while its archive arrives.
type clone struct {
	*dotgit.Incoming
	folder string // of the repository, until it becomes .git
	index  *dotgit.Index
}

// newClone begins a clone, whose repository is made in a new folder.
func newClone(folder string) (*clone, error) {
	in, err := dotgit.Receive(folder)
	return &clone{Incoming: in, folder: folder}, err
}

// attach has everything that is unpacked packed as well.
func (c *clone) attach(o *unpack.Options) {
	choose, done := o.Choose, o.Done
	o.Times, o.Git, o.Copy = true, c.Member, c.Copy
	o.Choose = func(m unpack.Member, content io.Reader) (unpack.Choice, error) {
		choice, err := choose(m, content)
		if err == nil {
			err = c.Choose(m)
		}
		return choice, err
	}
	o.Done = func(w unpack.Written) error {
		c.Done(w)
		return done(w)
	}
}

// complete makes the repository after the last member.
func (c *clone) complete(ctx context.Context, comment string) (err error) {
	if c.Commit, err = commitOf(comment); err == nil {
		c.index, err = c.Create(ctx)
	}
	return err
}

// commitOf returns the commit in the comment of an archive.
func commitOf(comment string) (git.ID, error) {
	id, err := git.ParseID(comment)
	if err != nil {
		err = fmt.Errorf("%w: its commit %.80q is none", client.ErrDamaged, comment)
	}
	return id, err
}

// place makes the repository that of a folder, to which all files were moved. Only then do programs take the
// folder for a clone.
func (c *clone) place(dir string) error {
	if err := c.index.WriteFile(filepath.Join(c.folder, "index")); err != nil {
		return err
	}
	return os.Rename(c.folder, filepath.Join(dir, gitFolder))
}

// Clone makes a clone in a folder, which must not exist or be empty, of the archive of a commit with
// [ProfileCheckout]. The clone appears when everything has come, and was compared with the commit.
// The options are those of package unpack; only AllowExternalSymlinks, Size and Limits count.
func Clone(ctx context.Context, in io.Reader, dir string, o unpack.Options) (report unpack.Report, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return report, err
	}
	entries, err := os.ReadDir(dir)
	if len(entries) > 0 {
		return report, fmt.Errorf("%s has files, so that no clone can be made there: %w", dir, ErrOccupied)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return report, err
	}
	stage, err := makeStage(dir, entries != nil)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, dotgit.Remove(stage)) }()
	tree := filepath.Join(stage, "tree")
	if err := os.Mkdir(tree, 0o777); err != nil { //nolint:gosec // the umask decides
		return report, err
	}
	c, err := newClone(filepath.Join(stage, "git"))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if report, err = c.unpack(ctx, in, tree, o); err != nil {
		return report, err
	}
	if entries == nil {
		if err := c.place(tree); err != nil {
			return report, err
		}
		return report, os.Rename(tree, dir)
	}
	c.index.ForgetTop()
	if err := moveAll(tree, dir); err != nil {
		return report, err
	}
	if err := c.place(dir); err != nil {
		return report, errors.Join(err, moveAll(dir, tree))
	}
	return report, nil
}

// makeStage makes a folder on the file system of another one, beside it if possible: in a mount point it is inside.
func makeStage(dir string, exists bool) (string, error) {
	stage, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".repomcp-")
	if err != nil || !exists {
		return stage, err
	}
	inside := filepath.Join(dir, filepath.Base(stage))
	if os.Rename(stage, inside) == nil {
		return stage, os.Rename(inside, stage)
	}
	if err := os.Remove(stage); err != nil {
		return "", err
	}
	return inside, os.Mkdir(inside, 0o700)
}

// moveAll moves what is in a folder into another one, or nothing.
func moveAll(from, to string) error {
	entries, err := os.ReadDir(from)
	for i := 0; i < len(entries) && err == nil; i++ {
		name := entries[i].Name()
		if err = os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err == nil {
			continue
		}
		for _, moved := range entries[:i] {
			err = errors.Join(err, os.Rename(filepath.Join(to, moved.Name()), filepath.Join(from, moved.Name())))
		}
	}
	return err
}

func (c *clone) unpack(ctx context.Context, in io.Reader, dir string, o unpack.Options) (unpack.Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return unpack.Report{}, err
	}
	o = unpack.Options{
		AllowExternalSymlinks: o.AllowExternalSymlinks, Size: o.Size, Limits: o.Limits, Unseen: true,
		Choose: func(unpack.Member, io.Reader) (unpack.Choice, error) { return unpack.Choice{}, nil },
		Done:   func(unpack.Written) error { return nil },
	}
	c.attach(&o)
	report, err := unpack.New(root, o).Tar(ctx, in)
	if err = errors.Join(err, root.Close()); err != nil {
		return report, err
	}
	if err := c.complete(ctx, report.Comment); err != nil {
		return report, err
	}
	c.index.SetStats(c.Stat)
	return report, nil
}

// passGit passes over the members of .git in a dry run.
func passGit(unpack.Member, io.Reader) error { return nil }

func (f *folder) updateClone(ctx context.Context, c *client.Client) (Result, error) {
	repository, err := dotgit.Open(f.options.Dir)
	switch {
	case err != nil:
		return Result{}, err
	case f.options.DryRun:
		return f.previewClone(ctx, c, repository)
	case repository == nil:
		if err := f.hide(); err != nil {
			return Result{}, err
		}
		return f.makeClone(ctx, c)
	}
	result, err := f.advance(ctx, c, repository)
	if err == nil {
		err = f.addSkipped(&result)
	}
	return result, errors.Join(err, repository.Close())
}

// previewClone compares the files, as git knows them, with the server's.
func (f *folder) previewClone(ctx context.Context, c *client.Client, repository *dotgit.Repository) (Result, error) {
	if repository != nil {
		head, err := repository.Head()
		if err == nil {
			err = f.adopt(repository, head, cloneState{})
		}
		if err = errors.Join(err, repository.Close()); err != nil {
			return Result{}, err
		}
	}
	return f.take(ctx, c, f.options.Ref, f.header.Commit, nil)
}

// addSkipped adds the links that earlier runs have skipped: git lists them as deleted.
func (f *folder) addSkipped(to *Result) error {
	links, err := f.findSkipped()
	for _, path := range to.Skipped {
		delete(links, path)
	}
	if err != nil || f.options.AllowExternalSymlinks {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(links)) {
		to.skip(path)
	}
	return nil
}

// hide has git ignore the folder of the state.
func (f *folder) hide() error {
	return os.WriteFile(f.path(ignoreName), []byte("*\n"), 0o666) //nolint:gosec // the umask decides
}

// makeClone makes a clone of a folder without a .git. Files that are there are kept, as without one.
func (f *folder) makeClone(ctx context.Context, c *client.Client) (_ Result, err error) {
	r, err := f.newRun("", nil)
	if err != nil {
		return Result{}, err
	}
	defer r.before.close()
	if r.clone, err = newClone(f.path(repositoryName)); err != nil {
		return r.result, err
	}
	defer func() { err = errors.Join(err, r.clone.Close(), dotgit.Remove(f.path(repositoryName))) }()
	d, err := r.open(ctx, c, f.options.Ref)
	if err != nil {
		return r.result, err
	}
	defer func() { _ = d.Close() }() // it was only read
	r.start(d)
	if err := r.bring(ctx, d); err != nil {
		return r.result, err
	}
	stats, err := f.writtenStats(r.clone.index.Paths())
	if err == nil {
		r.clone.index.SetStats(func(path string) (dotgit.Stat, bool) {
			s, ok := stats[path]
			return s, ok
		})
		err = r.clone.place(f.options.Dir)
	}
	if err != nil {
		return r.result, err
	}
	repository, err := dotgit.Open(f.options.Dir)
	if err == nil {
		err = errors.Join(f.remember(repository, r.clone.Incoming), repository.Close())
	}
	return r.result, err
}

// writtenStats returns the Stat of each file, of paths in order, that runs wrote, and that is as they wrote it.
func (f *folder) writtenStats(paths iter.Seq[string]) (map[string]dotgit.Stat, error) {
	s, err := f.readState()
	if err != nil {
		return nil, err
	}
	defer s.close()
	stats, d, written := make(map[string]dotgit.Stat), newDisk(f.options.Dir), cursor{scanner: s.scanner}
	for path := range paths {
		w, err := written.seek(path)
		if err != nil {
			return nil, err
		}
		if w == nil || w.flag != brought {
			continue
		}
		there, err := d.look(w.path)
		if err != nil {
			return nil, err
		}
		if is, err := d.isAsWritten(w, there); err != nil {
			return nil, err
		} else if is {
			stats[w.path] = dotgit.StatOf(there.info)
		}
	}
	return stats, nil
}

// isAsWritten reports whether a file is known to be that of a record without its content. Links have no times.
func (d *disk) isAsWritten(w *record, there found) (bool, error) {
	if w.kind == link {
		return d.has(*w, there, 0)
	}
	return there.info != nil && d.isKind(there.info, w.kind) && w.hasTimes(there.info), nil
}

// unpackOver makes a clone of a folder with files: it packs what comes, and then writes it as
// usual. git compares the files that are kept.
func (r *run) unpackOver(ctx context.Context, in io.Reader) (report unpack.Report, err error) {
	spool, err := r.spool(ctx, in, r.clone.Incoming)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, spool.Close()) }()
	if r.clone.index, err = r.clone.Create(ctx); err != nil {
		return report, err
	}
	return r.unpacker.Tar(ctx, spool)
}
