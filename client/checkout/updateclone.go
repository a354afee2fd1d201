package checkout

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/unpack"
)

func (f *folder) updateClone(ctx context.Context, c *client.Client) (Result, error) {
	if f.options.DryRun {
		return f.take(ctx, c, f.options.Ref, f.header.Commit, nil)
	}
	if err := f.hide(); err != nil {
		return Result{}, err
	}
	repository, err := dotgit.Open(f.options.Dir)
	switch {
	case err != nil:
		return Result{}, err
	case repository == nil:
		return f.makeClone(ctx, c)
	default:
		return f.advance(ctx, c, repository)
	}
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
	defer func() { err = errors.Join(err, r.clone.Close(), os.RemoveAll(f.path(repositoryName))) }()
	d, err := r.open(ctx, c, f.options.Ref)
	if err != nil {
		return r.result, err
	}
	defer func() { _ = d.Close() }() // it was only read
	r.start(d)
	if err := r.bring(ctx, d); err != nil {
		return r.result, err
	}
	stats, err := f.writtenStats(func(path string) bool { return r.clone.index.Find(path) != nil })
	if err == nil {
		r.clone.index.SetStats(stats)
		err = r.clone.place(f.options.Dir)
	}
	if err != nil {
		return r.result, err
	}
	repository, err := dotgit.Open(f.options.Dir)
	if err == nil {
		err = f.remember(repository, r.clone.Incoming)
	}
	return r.result, err
}

// writtenStats returns the Stat of each file that runs wrote, and that is as they wrote it.
func (f *folder) writtenStats(wanted func(path string) bool) (map[string]dotgit.Stat, error) {
	stats, d := make(map[string]dotgit.Stat), newDisk(f.options.Dir)
	return stats, f.each(func(w record) error {
		if w.flag != brought || !wanted(w.path) {
			return nil
		}
		there, err := d.look(w.path)
		if err == nil && there.info != nil && kindOfFile(there.info) == w.kind && w.kind != directory {
			if w.kind == link || w.hasTimes(there.info) {
				stats[w.path] = dotgit.StatOf(there.info)
			}
		}
		return err
	})
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
