package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/unpack"
)

// attempts are those of a run whose archive comes damaged, or breaks where it cannot
// be gone on with: that may be different the next time.
const attempts = 3

// sync is one run. now is the state of the ref, if that is known.
func (f *folder) sync(ctx context.Context, c *client.Client, now *client.State) (Result, error) {
	for left := attempts - 1; ; left-- {
		result, err := f.attempt(ctx, c, now)
		if err == nil || left == 0 || ctx.Err() != nil || !begunAnew(err) {
			return result, err
		}
		f.unpatched = f.unpatched || errors.Is(err, unpack.ErrPatch)
		f.tell(Event{Event: EventRetry, Error: err.Error()})
		now = nil // it may have been wrong
	}
}

// nothingNew is more than an archive without changes has, in bytes.
const nothingNew = 64 << 10

// begunAnew tells the errors of an archive that another attempt may bring whole.
func begunAnew(err error) bool {
	switch {
	case errors.Is(err, client.ErrNotResumed):
		return true
	case errors.Is(err, client.ErrNetwork): // package client has tried again
		return false
	default:
		return errors.Is(err, client.ErrDamaged) || errors.Is(err, unpack.ErrDamaged) || errors.Is(err, unpack.ErrPatch)
	}
}

func (f *folder) attempt(ctx context.Context, c *client.Client, now *client.State) (Result, error) {
	if f.lock != nil {
		if err := f.recover(); err != nil {
			return Result{}, err
		}
	}
	s, err := f.readState()
	if err != nil {
		return Result{}, err
	}
	s.close()
	f.header = s.header
	if _, err := os.Lstat(f.path(journalName)); err == nil {
		f.header.Commit = "" // a dry run does not bring it in order
	}
	result, err := f.update(ctx, c, now)
	if errors.Is(err, errAppeared) {
		return f.attempt(ctx, c, now) // as into a folder that has files
	}
	if result.Kept == nil {
		result.Kept = []string{}
	}
	if err != nil {
		return result, err
	}
	f.tell(Event{Event: EventDone, Commit: result.Commit, Result: &result})
	return result, nil
}

func (f *folder) update(ctx context.Context, c *client.Client, now *client.State) (result Result, err error) {
	o, base := f.options, f.header.Commit
	if !f.header.fits(o) {
		return f.take(ctx, c, o.Ref, "", nil)
	}
	switch {
	case now == nil:
		result, err = f.take(ctx, c, o.Ref, base, nil) // nothing, where nothing is new
	case now.Missing || now.Commit == "":
		return f.take(ctx, c, o.Ref, "", nil) // for the server's own words, or its archive
	case now.Commit != base:
		result, err = f.take(ctx, c, now.Commit, base, nil)
		if errors.Is(err, ErrGone) { // the branch was moved meanwhile
			result, err = f.take(ctx, c, o.Ref, base, nil)
		}
	default:
		result = Result{Commit: base, Base: base}
	}
	if err != nil {
		return result, err
	}
	seen := result.Commit != base && (result.Full || f.lock == nil)
	if !o.Verify && (seen || f.header.Kept == 0) {
		return result, nil
	}
	return f.check(ctx, c, result)
}

// run is one archive on its way into the folder.
type run struct {
	*folder
	base     string   // the commit that the archive may be a difference from, or ""
	head     string   // that which a difference leads to
	some     []string // paths that are all that is asked for; nil: everything
	old      cursor   // of the state, before the run
	disk     *disk
	delta    bool // the archive is a difference
	buffer   []byte
	unpacker *unpack.Unpacker
	scratch  string // of a dry run: what it unpacks into, and its journal
	// fetch downloads a file of the head.
	fetch func(path string) (*client.Download, error)

	mu      sync.Mutex // for what follows, and events
	journal *journal
	result  Result
}

// take brings an archive into the folder: that of a revision, or what differs
// from the base, or some paths of it only.
func (f *folder) take(
	ctx context.Context, c *client.Client, revision, base string, some []string,
) (_ Result, err error) {
	r := &run{folder: f, base: base, some: some, disk: newDisk(f.options.Dir), result: Result{Base: base}}
	name := f.path(journalName)
	if f.lock == nil {
		if r.scratch, err = os.MkdirTemp("", "repomcp-dry-run-*"); err != nil {
			return r.result, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
		name = filepath.Join(r.scratch, journalName)
	}
	s, err := f.readState()
	if err != nil {
		return r.result, err
	}
	defer s.close()
	r.old = cursor{records: s}
	r.fetch = func(path string) (*client.Download, error) { return c.Stream(ctx, r.file(path)) }
	d, err := r.download(ctx, c, revision)
	if err != nil {
		return r.result, err
	}
	defer func() { _ = d.Close() }() // only read from
	if base != "" && d.Commit == base {
		// To the server, what is read to its end was not broken off.
		_, _ = io.CopyN(io.Discard, d, nothingNew)
		r.result.Commit = base
		return r.result, nil
	}
	r.tell(Event{Event: EventStart, Commit: d.Commit, Base: r.base, Size: max(d.Size, 0)})
	// Nothing was asked for in vain: from here on there is something to be recovered.
	if r.journal, err = createJournal(name); err != nil {
		return r.result, err
	}
	err = r.unpack(ctx, d)
	if err == nil {
		err = r.finish()
	}
	if err = errors.Join(err, r.journal.close()); err == nil && f.lock != nil {
		err = os.Remove(name)
	}
	return r.result, err
}

func (r *run) download(ctx context.Context, c *client.Client, revision string) (*client.Download, error) {
	query := url.Values{}
	if r.base != "" {
		query["base"], query["fallback"] = []string{r.base}, []string{"full"}
	}
	for _, path := range r.some {
		query.Add("path", literal+path)
	}
	d, err := r.stream(ctx, c, revision, query)
	if isMissing(err) {
		return nil, r.explainGone(ctx, c, err)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

func isMissing(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.NotFound()
}

// explainGone finds out whether the repository is missing or something of it.
func (r *run) explainGone(ctx context.Context, c *client.Client, err error) error {
	o := r.options
	if _, other := c.Read(ctx, "repo://"+escape(o.Repository)); isMissing(other) {
		return fmt.Errorf("repository %q: %w", o.Repository, ErrGone)
	}
	if len(o.Paths)+len(o.Exclude) > 0 {
		return fmt.Errorf("%q of %q, or a path in it: %w: %w", o.Ref, o.Repository, ErrGone, err)
	}
	return fmt.Errorf("revision %q of %q: %w", o.Ref, o.Repository, ErrGone)
}

// counted tells of the progress of a download.
type counted struct {
	*client.Download
	run  *run
	told time.Time
}

// progressEvery is often enough to be seen.
const progressEvery = 100 * time.Millisecond

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Download.Read(p)
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.run.result.Bytes += int64(n)
	if now := time.Now(); err != nil || now.Sub(c.told) >= progressEvery {
		c.told = now
		c.run.tell(Event{Event: EventProgress, Bytes: c.run.result.Bytes, Size: max(c.Size, 0)})
	}
	return n, err
}

func (r *run) unpack(ctx context.Context, d *client.Download) error {
	o := unpack.Options{
		Choose: r.choose, Ready: r.ready, AllowExternalSymlinks: r.options.AllowExternalSymlinks,
	}
	dir := r.options.Dir
	if r.options.DryRun {
		dir, o.Choose = r.scratch, r.preview
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	r.unpacker = unpack.New(root, o)
	report, err := r.unpackInto(ctx, &counted{Download: d, run: r}, root, o)
	r.result.Commit = cmp.Or(report.Comment, d.Commit)
	if err == nil && r.isWhole() {
		err = r.removeStale()
	}
	return errors.Join(err, root.Close())
}

// preview decides as a run does, and has nothing written.
func (r *run) preview(m unpack.Member, content io.Reader) (unpack.Choice, error) {
	choice, err := r.choose(m, content)
	if err == nil && !choice.Skip && m.Kind != unpack.Folder {
		err = r.noteWritten(record{path: m.Path, kind: kindOf(m), size: m.Size})
	}
	return skip, err
}

func (r *run) ready(w unpack.Written) error { return r.noteWritten(recordOf(w)) }

func (r *run) noteWritten(w record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Written++
	r.tell(Event{Event: EventWrite, Path: w.path, Size: w.size})
	return r.journal.add(w)
}

// note adds a record to the journal, and no event.
func (r *run) note(w record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.journal.add(w)
}

// keep tells of what is not overwritten, or removed.
func (r *run) keep(path, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.keep(path)
	r.tell(Event{Event: EventKeep, Path: path, Reason: reason})
}

func (r *Result) keep(path string) {
	if r.KeptCount++; len(r.Kept) < mostKept {
		r.Kept = append(r.Kept, path)
	}
}

// isWhole reports whether what the archive has not is not to be there.
func (r *run) isWhole() bool { return !r.delta && r.some == nil }

// keepAll adds what others have kept.
func (r *Result) keepAll(others ...Result) {
	all, most := slices.Clone(r.Kept), r.KeptCount
	for _, other := range others {
		all, most = append(all, other.Kept...), max(most, other.KeptCount)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	// Beyond the names there is no telling what both have.
	r.Kept, r.KeptCount = all[:min(len(all), mostKept)], max(len(all), most)
}

func (r *run) finish() error {
	r.result.Full = r.isWhole()
	if r.options.DryRun {
		return nil
	}
	return r.replaceState(r.result.Commit, newSorted(r.journal.file), takeChange)
}

// cursor finds records in the order of their paths.
type cursor struct {
	records
	at  record // the one that was read last
	err error  // why there is no other
}

// seek returns the record of a path, or nil. Paths before it are passed over.
func (c *cursor) seek(path string) (*record, error) {
	for c.err == nil && c.at.path < path {
		c.at, c.err = c.next()
	}
	switch {
	case c.err == nil && c.at.path == path:
		found := c.at
		return &found, nil
	case c.err == nil || errors.Is(c.err, io.EOF):
		return nil, nil //nolint:nilnil // there is none
	default:
		return nil, c.err
	}
}
