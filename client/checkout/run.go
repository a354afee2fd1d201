package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/internal/retry"
	"github.com/repomcp/repomcp/client/unpack"
)

// attempts are those of a run whose archive arrives damaged, or breaks and cannot be resumed, or
// whose folder changes meanwhile: the next attempt may succeed.
const attempts = 3

// sync is one run, whose requests share one count of failures. now is the state of the ref, if
// known.
func (f *folder) sync(ctx context.Context, c *client.Client, now *client.State) (Result, error) {
	ctx, _ = retry.Begin(ctx)
	f.answered, f.respelled = "", false
	for left := attempts - 1; ; left-- {
		result, err := f.attempt(ctx, c, now)
		if err == nil || left == 0 || ctx.Err() != nil || !isBegunAnew(err) {
			return result, err
		}
		f.unpatched = f.unpatched || errors.Is(err, unpack.ErrPatch)
		f.respelled = f.respelled || errors.Is(err, errRespelled)
		f.tell(failure(EventRetry, err))
		now = nil // it may have been wrong
	}
}

// nothingNew is more than the size of an archive without changes, in bytes.
const nothingNew = 64 << 10

// isBegunAnew reports whether another attempt may avoid an error.
func isBegunAnew(err error) bool {
	refused, ok := errors.AsType[*unpack.RefusedError](err)
	switch {
	case ok: // a user has made a file in place of a needed folder
		return refused.Reason == unpack.InTheWay || refused.Reason == unpack.ThroughLink
	case errors.Is(err, client.ErrNotResumed), errors.Is(err, errAppeared), errors.Is(err, errRespelled),
		errors.Is(err, dotgit.ErrMoved):
		return true
	case isAbsent(err): // a user has removed a folder that was written to
		return true
	case errors.Is(err, client.ErrNetwork): // package client has tried again
		return false
	default:
		return errors.Is(err, client.ErrDamaged) || errors.Is(err, unpack.ErrDamaged) || errors.Is(err, unpack.ErrPatch)
	}
}

func (f *folder) attempt(ctx context.Context, c *client.Client, now *client.State) (Result, error) {
	if err := errors.Join(f.lockAgain(), f.recover()); err != nil {
		return Result{}, err
	}
	s, err := f.readState()
	if err != nil {
		return Result{}, err
	}
	s.close()
	f.header = s.header
	if err := f.accept(); err != nil {
		return Result{}, err
	}
	result, err := f.update(ctx, c, now)
	result.Kept, result.Skipped = notNil(result.Kept), notNil(result.Skipped)
	if err != nil {
		return result, err
	}
	f.tell(Event{Event: EventDone, Commit: result.Commit, Result: &result})
	return result, nil
}

// notNil returns a list that JSON encodes as a list, even if it is empty.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func (f *folder) update(ctx context.Context, c *client.Client, now *client.State) (result Result, err error) {
	o, base := f.options, f.header.Commit
	if o.isCheckout() {
		return f.updateClone(ctx, c)
	}
	if !f.header.fits(o) || o.isComposed() && o.Verify {
		return f.take(ctx, c, o.Ref, "", nil)
	}
	switch {
	case now == nil:
		result, err = f.take(ctx, c, o.Ref, base, nil) // an empty delta if nothing is new
	case now.Missing || now.Commit == "":
		return f.take(ctx, c, o.Ref, "", nil) // for the server's own error message, or its archive
	case now.Commit != base:
		result, err = f.take(ctx, c, now.Commit, base, nil)
		if errors.Is(err, ErrGone) { // the branch was moved meanwhile
			result, err = f.take(ctx, c, o.Ref, base, nil)
		}
	default:
		result = Result{Commit: base, Base: base}
	}
	if err != nil || result.Full || !o.Verify && len(o.Theirs) == 0 && f.header.Kept == 0 {
		return result, err
	}
	return f.check(ctx, c, result)
}

// run is one archive on its way into the folder.
type run struct {
	*folder
	base      string   // the commit that the archive may be a delta from, or ""
	announced string   // the commit of the archive, or "" if the server does not name it
	head      string   // the commit that a delta leads to
	depth     string   // how many commits are requested; "" for one
	some      []string // the only paths that were requested; nil: everything
	before    state    // the state before the run
	old       cursor   // in it
	links     paths    // those that were skipped before
	disk      *disk
	delta     bool // the archive is a delta
	fromBase  bool // that of a clone was one
	buffer    []byte
	unpacker  *unpack.Unpacker
	clone     *clone // that is being made, or nil
	// wanted are the paths of members that are written, or nil for all.
	wanted map[string]bool
	// replaced are folders that something else replaces: their contents are removed when that
	// arrives, and not before.
	replaced paths
	entered  string // the previous member, if it was a folder
	hollow   paths  // empty folders of the archive
	misnamed string // the last member that waits for the next attempt, or ""
	// spared are folders in the place of skipped links.
	spared paths
	// fetch downloads a file of the new commit.
	fetch func(path string) (*client.Download, error)

	mu      sync.Mutex // for the fields below, and events
	journal *journal
	result  Result
	// hindered is why files were kept: ReasonEdited, or another reason if programs have all of them for now.
	hindered string
}

// take brings an archive into the folder: that of a revision, the difference from the base, or only
// some paths.
func (f *folder) take(
	ctx context.Context, c *client.Client, revision, base string, some []string,
) (Result, error) {
	r, err := f.newRun(base, some)
	if err != nil {
		return Result{Base: base}, err
	}
	defer r.before.close()
	d, err := r.open(ctx, c, revision)
	if err != nil {
		return r.result, err
	}
	defer func() { _ = d.Close() }() // it was only read
	if base != "" && d.Commit == base {
		// A download that is read to its end does not look aborted to the server.
		_, _ = io.CopyN(io.Discard, d.Download, nothingNew)
		r.result.Commit = base
		return r.result, nil
	}
	r.start(d)
	err = r.bring(ctx, d)
	return r.result, err
}

// newRun prepares a run. The caller closes the state before it.
func (f *folder) newRun(base string, some []string) (*run, error) {
	r := &run{
		folder: f, base: base, some: some, disk: newDisk(f.options.Dir), replaced: paths{}, hollow: paths{},
		spared: paths{}, result: Result{Base: base},
	}
	if f.options.isComposed() {
		r.base = ""
	}
	err := r.readBefore()
	if err == nil {
		r.links, err = f.findSkipped()
	}
	if err != nil {
		r.before.close()
		return nil, err
	}
	return r, nil
}

// readBefore begins to read the state before the run.
func (r *run) readBefore() (err error) {
	r.before, err = r.readState()
	r.old = cursor{scanner: r.before.scanner}
	return err
}

// open begins the download of an archive.
func (r *run) open(ctx context.Context, c *client.Client, revision string) (*counted, error) {
	r.fetch = func(path string) (*client.Download, error) { return c.Stream(ctx, r.file(path)) }
	d, err := r.download(ctx, c, revision)
	if err != nil {
		return nil, err
	}
	r.answered = d.Commit
	if !r.options.isCheckout() { // there it may be an annotated tag
		r.announced = d.Commit
	}
	return &counted{Download: d, run: r}, nil
}

// start reports a download.
func (r *run) start(d *counted) {
	r.tell(Event{Event: EventStart, Commit: d.Commit, Base: r.base, Size: max(d.Size, 0)})
}

// bring unpacks an archive. From here on there is something to recover.
func (r *run) bring(ctx context.Context, in io.Reader) (err error) {
	if r.journal, err = createJournal(r.path(journalName)); err != nil {
		return err
	}
	err = r.unpack(ctx, in)
	if err == nil {
		err = r.finish()
	}
	if err = errors.Join(err, r.journal.close()); err == nil {
		err = os.Remove(r.path(journalName))
	}
	return err
}

func (r *run) download(ctx context.Context, c *client.Client, revision string) (*client.Download, error) {
	query := url.Values{}
	if r.base != "" {
		query["base"], query["fallback"] = []string{r.base}, []string{"full"}
	}
	if r.depth != "" {
		query.Set("depth", r.depth)
	}
	for _, path := range r.some {
		query.Add("path", literal+path)
	}
	d, err := r.stream(ctx, c, revision, query)
	switch {
	case isMissing(err):
		return nil, r.explainGone(ctx, c, err)
	case IsTooOld(err):
		return nil, ErrNoCheckouts
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

// explainGone finds out whether the repository or a part of it is missing.
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

// counted reports the progress of a download.
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
		c.run.tellProgress(PhaseReceive, c.run.result, max(c.Size, 0))
	}
	return n, err
}

func (f *folder) tellProgress(phase string, so Result, size int64) {
	f.tell(Event{
		Event: EventProgress, Phase: phase, Bytes: so.Bytes, Size: size, Written: so.Written, Deleted: so.Deleted,
	})
}

func (r *run) unpack(ctx context.Context, in io.Reader) error {
	o := unpack.Options{
		Choose: r.choose, Comment: r.compareCommit, Ready: r.ready, Done: r.done, Stays: r.stays,
		AllowExternalSymlinks: r.options.AllowExternalSymlinks,
	}
	if r.options.isCheckout() {
		o.Git = passGit
	}
	dir := r.options.Dir
	if r.options.DryRun {
		o.Choose, dir = r.preview, r.path(previewName)
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	r.unpacker = unpack.New(root, o)
	report, err := r.unpackInto(ctx, in, root, o)
	r.result.Commit, r.result.TextLinks = cmp.Or(report.Comment, r.announced), report.TextLinks
	if err == nil && r.isWhole() {
		err = r.removeStale()
	}
	if err == nil && r.misnamed != "" {
		err = errRespelled
	}
	return errors.Join(err, root.Close())
}

// compareCommit refuses an archive of another commit than the server announced.
func (r *run) compareCommit(comment string) error {
	switch {
	case !isCommit(comment):
		return fmt.Errorf("%w: its commit %.80q is none", client.ErrDamaged, comment)
	case r.announced != "" && r.announced != comment:
		return fmt.Errorf("%w: it is of the commit %s, and not of %s", client.ErrDamaged, comment, r.announced)
	}
	return nil
}

// isCommit reports whether a string has the form of a git id.
func isCommit(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// preview decides as a run does, and writes nothing.
func (r *run) preview(m unpack.Member, content io.Reader) (unpack.Choice, error) {
	choice, err := r.choose(m, content)
	if err == nil && !choice.Skip && m.Kind != unpack.Folder {
		r.tellWritten(m.Path, m.Size)
		err = r.note(record{path: m.Path, kind: kindOf(m), flag: previewed, size: m.Size})
	}
	return skip, err
}

func (r *run) tellWritten(path string, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Written++
	r.tell(Event{Event: EventWrite, Path: path, Size: size})
}

func (r *run) tellDeleted(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Deleted++
	r.tell(Event{Event: EventDelete, Path: path})
}

// note adds a record to the journal.
func (r *run) note(w record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.journal.add(w)
}

// keep reports a file that is not overwritten or removed.
func (r *run) keep(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.keep(e.Path)
	switch {
	case e.Reason != ReasonInUse && e.Reason != ReasonHeld:
		r.hindered = ReasonEdited
	case r.hindered == "":
		r.hindered = e.Reason
	}
	e.Event = EventKeep
	r.tell(e)
}

func (r *Result) keep(path string) { r.Kept, r.KeptCount = named(r.Kept, path), r.KeptCount+1 }

func (r *Result) skip(path string) {
	r.Skipped, r.SkippedCount = named(r.Skipped, path), r.SkippedCount+1
}

func named(list []string, path string) []string {
	if len(list) < mostNamed {
		list = append(list, path)
	}
	return list
}

// isWhole reports whether files that the archive lacks are to be removed.
func (r *run) isWhole() bool { return !r.delta && r.some == nil }

// addStaying adds the kept and skipped paths of other results.
func (r *Result) addStaying(others ...Result) {
	for _, o := range others {
		r.Kept, r.KeptCount = union(r.Kept, r.KeptCount, o.Kept, o.KeptCount)
		r.Skipped, r.SkippedCount = union(r.Skipped, r.SkippedCount, o.Skipped, o.SkippedCount)
	}
}

// union merges two lists of names, which may have been cut.
func union(a []string, counted int, b []string, more int) ([]string, int) {
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	// The overlap of names beyond the lists is unknown.
	return all[:min(len(all), mostNamed)], max(len(all), counted, more)
}

func (r *run) finish() error {
	r.result.Full = r.isWhole()
	r.tellProgress(PhaseFinish, r.result, 0)
	r.before.close() // its file is replaced
	return r.replaceState(r.headerOf(r.result.Commit), newSorted(r.journal.file), takeChange)
}

// cursor finds records of a state in the order of their paths.
type cursor struct {
	scanner
	at  record // the last one read
	err error  // why there is no other
}

// seek returns the record of a path, or nil, and skips earlier paths.
func (c *cursor) seek(path string) (*record, error) {
	if c.err == nil && c.at.path < path {
		c.at, c.err = c.nextFrom(path)
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
