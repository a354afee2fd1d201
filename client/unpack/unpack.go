package unpack

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Options of an [Unpacker]. The zero value unpacks everything.
type Options struct {
	// Choose is called before each member is written, in the order of the archive. It may read the
	// content of a file, to store it elsewhere or to make another one from it, and its [Choice] has
	// to say so. An error ends the run.
	Choose func(m Member, content io.Reader) (Choice, error)
	// Git, if not nil, gets the members of the folder .git in the root, in the order of the archive,
	// instead of Choose. They are refused without it, and never written. Their paths, which begin
	// with ".git", are unchecked. An error ends the run.
	Git func(m Member, content io.Reader) error
	// Copy, if not nil, returns a second place for the content of a file of a size. It is called by
	// several goroutines.
	Copy func(size int64) Copy
	// Comment is called with the comment of the archive, where git puts the id of the commit,
	// before any later member. An error ends the run.
	Comment func(string) error
	// Ready is called with each file and link when it is complete and about to get its name, and
	// with each file that is about to be removed, so that a journal can record it first. Calls come
	// as for Done.
	Ready func(Written) error
	// Stays is called for each member that [Choice].Yields has refused. Calls come as for Done.
	// Without it such a member ends the run.
	Stays func(Stay) error
	// Done is called with each file, link and folder as soon as it exists. Calls come from several
	// goroutines, one at a time; an error ends the run.
	Done func(Written) error
	// Times gives files the time of modification from the archive, if it is between 1970 and 2242.
	// Otherwise files have the time at which they were written, as build tools expect.
	Times bool
	// Unseen says that the root is a new folder of the caller, which no program reads before a run
	// has succeeded and which is deleted otherwise: files are then written under their final names.
	Unseen bool
	// AllowExternalSymlinks makes links that lead out of the root.
	AllowExternalSymlinks bool
	// RefuseClashes refuses names that differ only in case or in Unicode normalization even if the
	// file system distinguishes them.
	RefuseClashes bool
	// Size is the expected number of bytes of all files, if known: the disk must have room for
	// them.
	Size   int64
	Limits Limits
}

// Copy gets the content of a file while it is written.
type Copy interface {
	io.Writer
	// End is called once, with the id of the complete content before the file has its name, or with
	// the zero id if the content stays incomplete.
	End(id ID) error
}

// Unpacker writes archives into one folder, one at a time.
type Unpacker struct {
	root    *os.Root
	options Options
	goos    string
	inTurns bool         // as on a system that cannot exchange two names
	noLinks bool         // as on a file system without symbolic links
	run     string       // in temporary names
	named   atomic.Int64 // likewise

	mu sync.Mutex // for the functions of the options, and for the report
}

// New makes an Unpacker for a root, which stays the caller's to close.
func New(root *os.Root, o Options) *Unpacker {
	o.Limits = o.Limits.withDefaults()
	return &Unpacker{root: root, options: o, goos: runtime.GOOS, run: rand.Text()}
}

// Tar unpacks one stream, to the end of r. The report is valid even after an error. The end of ctx
// is noticed between reads: r has to notice it itself.
func (u *Unpacker) Tar(ctx context.Context, r io.Reader) (Report, error) {
	if err := u.hasRoom(u.options.Size, "the archive"); err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := openStream(ctx, r, u.options.Limits)
	if err != nil {
		return Report{}, err
	}
	defer stream.close()
	if err := u.Clean(ctx); err != nil {
		return Report{}, err
	}
	m, same, err := u.mark()
	if err != nil {
		return Report{}, err
	}
	run := &run{Unpacker: u, ctx: ctx, cancel: cancel, stream: stream, marker: m}
	run.folders = u.newFolders(&same, run.madeFolder)
	err = run.unpack()
	return run.report, errors.Join(err, m.remove(u.root))
}

// run is one archive on its way to the disk. One goroutine reads it and writes large files; workers
// write the small ones.
type run struct {
	*Unpacker
	ctx      context.Context
	cancel   context.CancelCauseFunc
	stream   *stream
	folders  *folders
	links    []link
	entries  int64
	manifest bool      // was taken
	checked  string    // the folder of the last member, whose name is valid
	modTime  time.Time // of all members, if a global header has one
	marker   *marker
	buffer   []byte // for streamed files
	small    pool
	report   Report
}

// unpack reads to the end, and makes the links only after a good end.
func (r *run) unpack() error {
	defer r.folders.close()
	r.small.start(r)
	err := r.members()
	r.small.finish()
	if failed := context.Cause(r.ctx); failed != nil {
		err = failed // the reason why members ended as well
	}
	if err != nil {
		return err
	}
	return r.makeLinks()
}

// made counts and reports what is on the disk.
func (r *run) made(w Written) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch w.Kind {
	case File:
		r.report.Files++
		r.report.Bytes += w.Size
		if isRunBySomething(w.Path) && len(r.report.Warnings) < mostWarnings {
			r.report.Warnings = append(r.report.Warnings, w.Path)
		}
	case Folder:
		r.report.Folders++
	case Symlink:
		r.report.Symlinks++
		if w.Info.Mode().IsRegular() {
			r.report.TextLinks++
		}
	}
	if r.options.Done == nil {
		return nil
	}
	return r.options.Done(w)
}

// mostWarnings is as many as a person reads.
const mostWarnings = 100

func (u *Unpacker) ready(w Written) error {
	if u.options.Ready == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.options.Ready(w)
}

// stays reports a member that did not get its place.
func (r *run) stays(s Stay) error {
	if r.options.Stays == nil {
		return refuse(InTheWay, s.Written.Path)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.options.Stays(s)
}

func (r *run) madeFolder(f *folder, info fs.FileInfo) error {
	return r.made(Written{Path: f.path, Kind: Folder, Info: info})
}
