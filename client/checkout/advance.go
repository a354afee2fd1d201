package checkout

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/git"
)

// deltaDepth is the distance of the commits that an update brings at most, so that those of a usual push are connected
// with the ones that a clone has.
const deltaDepth = "100"

// allDepth is that of git fetch --unshallow, for a larger push to a clone with the whole history.
const allDepth = "2147483647"

// advance brings an existing clone up to date: as git fetch does, and then, if nothing of the user's
// is in the way, the branch and the working tree.
func (f *folder) advance(ctx context.Context, c *client.Client, repository *dotgit.Repository) (_ Result, err error) {
	if err := repository.Recover(); err != nil {
		return Result{}, err
	}
	head, err := repository.Head()
	if err != nil {
		return Result{}, err
	}
	known, err := f.readCloneState()
	if err == nil {
		err = f.adopt(repository, head, known)
	}
	if err == nil {
		err = f.hide()
	}
	if err != nil {
		return Result{}, err
	}
	a := &advance{repository: repository, known: known, head: head}
	if a.base, err = a.baseOfUpdate(ctx); err != nil {
		return Result{}, err
	}
	for from := a.base.String(); ; {
		result, err := a.tryBase(ctx, f, c, from)
		switch {
		case errors.Is(err, errOtherBase):
			a.base = head.Commit
			from = a.base.String()
		case errors.Is(err, errWhole):
			from = ""
		default:
			return result, err
		}
	}
}

// tryBase brings the difference from a commit, or everything if that is "", and applies what differs from the base.
func (a *advance) tryBase(ctx context.Context, f *folder, c *client.Client, from string) (_ Result, err error) {
	if a.run, err = f.newRun(from, nil); err != nil {
		return Result{}, err
	}
	defer func() { a.before.close() }()
	a.result.Base, a.result.Commit = a.head.Commit.String(), a.head.Commit.String()
	depths := []string{deltaDepth, allDepth}
	if a.repository.IsShallow() { // commits before the base may be missing
		depths = []string{deltaDepth, "1"}
	}
	for _, a.depth = range depths {
		known, err := a.fetch(ctx, c)
		switch {
		case known:
			return a.result, err
		case (errors.Is(err, dotgit.ErrIncomplete) || errors.Is(err, dotgit.ErrCut)) && a.depth == deltaDepth:
			continue
		case err != nil:
			return a.result, err
		}
		a.run.base = a.base.String() // what is applied is the difference, whatever came
		err = errors.Join(a.apply(ctx), a.files.Close())
		return a.result, err
	}
	return a.result, nil
}

// advance is an update of an existing clone.
type advance struct {
	*run
	repository *dotgit.Repository
	known      cloneState
	head       dotgit.Head
	base       git.ID // what the archive may be the difference from, and the files are compared with
	update     *dotgit.Update
	files      spooled
	tracked    git.ID // what the clone remembered of the server before
}

// baseOfUpdate returns the commit that the update is the difference from: that of HEAD or, if the user has
// committed something, the last one of the server.
func (a *advance) baseOfUpdate(ctx context.Context) (git.ID, error) {
	branch, ok := strings.CutPrefix(a.head.Name, "refs/heads/")
	if !ok || a.isOurs() {
		return a.head.Commit, nil
	}
	tracked, err := a.repository.Ref("refs/remotes/origin/" + branch)
	if err != nil || tracked.IsZero() || tracked == a.head.Commit {
		return a.head.Commit, err
	}
	behind, err := a.repository.IsAncestor(ctx, a.head.Commit, tracked)
	if behind || err != nil {
		return a.head.Commit, err
	}
	return tracked, nil
}

// knows reports whether the clone has all of a commit, or of an annotated tag, and there is nothing to do. Where it has
// another one of the server's branch, the members of the archive say more. Where a run has left HEAD, the server's
// branch may have been moved back to a commit that the clone has.
func (a *advance) knows(ctx context.Context, announced string) (bool, error) {
	if k := a.known; a.options.Ref != k.Ref || announced != k.origin() || k.Writing != "" {
		return false, nil
	}
	if a.isOurs() {
		return announced == a.known.Tracked, nil
	}
	id, err := git.ParseID(announced)
	if err != nil {
		return false, nil // it is not announced
	}
	return a.repository.IsAncestor(ctx, id, a.head.Commit)
}

// isOurs reports whether a run has left HEAD where it is, possibly one that was killed at its very end.
func (a *advance) isOurs() bool {
	at := a.head.Commit.String()
	return a.head.Name == a.known.Head &&
		(at == a.known.Commit || slices.Contains(strings.Fields(a.known.Writing), at))
}

// fetch brings the objects, unless the clone knows the commit.
func (a *advance) fetch(ctx context.Context, c *client.Client) (known bool, err error) {
	d, err := a.open(ctx, c, a.options.Ref)
	if err != nil {
		return false, err
	}
	defer func() { _ = d.Close() }() // it was only read
	if known, err := a.knows(ctx, d.Commit); known || err != nil {
		_, _ = io.CopyN(io.Discard, d.Download, nothingNew) // see take
		return known, err
	}
	a.start(d)
	in, err := a.repository.Receive()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, in.Discard()) }()
	if a.files, err = a.spool(ctx, d, in); err != nil {
		return false, err
	}
	if a.update, err = a.repository.Compare(ctx, in, a.base); err == nil {
		err = a.addUnfinished(ctx)
	}
	if err == nil {
		err = a.track(ctx)
	}
	if err != nil {
		err = errors.Join(err, a.files.Close())
	}
	return false, err
}

// errWhole says that the update has to be a whole archive.
var errWhole = errors.New("an earlier update has left files that the difference does not have")

// addUnfinished adds to the changes those of updates to other commits that were broken off while they wrote files.
func (a *advance) addUnfinished(ctx context.Context) error {
	for begun := range strings.FieldsSeq(a.known.Writing) {
		id, err := git.ParseID(begun)
		if err != nil {
			continue // it is damaged
		}
		added, err := a.update.AddChangesOf(ctx, id)
		if err == nil && added && a.fromBase {
			err = errWhole
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errUnrelated says that a clone is probably one of another repository.
var errUnrelated = errors.New("the server knows neither the commit nor the origin of this clone: it may be one of " +
	"another repository; git fetch, or name another folder")

// errOtherTag says that a tag of the server would replace the user's.
var errOtherTag = errors.New("the clone has another tag of this name: git tag -d deletes it, and git tag NAME TAG " +
	"gives it another name before")

// track publishes what has come, and remembers the server's branch or tag, unless git has fetched a later one
// from elsewhere.
func (a *advance) track(ctx context.Context) (err error) {
	if a.tracked, err = a.repository.Ref(a.update.Tracking()); err != nil {
		return err
	}
	of := a.known.Repository
	later, related := false, a.fromBase || a.known != cloneState{} && (of == "" || of == a.options.Repository)
	if was := a.tracked.String(); !a.tracked.IsZero() && was != a.known.Tracked && was != a.known.Fetched {
		switch {
		case a.update.IsTag() && a.tracked != a.update.Target:
			return errOtherTag
		case a.update.IsTag():
			return a.update.Publish()
		}
		if later, err = a.update.IsAncestor(ctx, a.update.Commit, a.tracked); err != nil {
			return err
		}
	}
	if !related && !later {
		if related, err = a.update.IsAncestor(ctx, a.head.Commit, a.update.Commit); err != nil {
			return err
		}
	}
	switch {
	case !related && !later:
		return errUnrelated
	case later:
		return a.update.Publish()
	default:
		if err := a.update.Publish(); err != nil {
			return err
		}
		if err := a.update.Track(a.tracked); err != nil {
			return err
		}
		a.known.Fetched = a.update.Target.String()
		return a.writeCloneState(a.known)
	}
}

// errOtherBase says that the server has the user's commits, so that the update is the difference from them.
var errOtherBase = errors.New("the update is the difference from another commit than that of HEAD")

// apply brings the working tree, the index and HEAD to the commit.
func (a *advance) apply(ctx context.Context) error {
	if ahead, err := a.isAhead(ctx); ahead || err != nil {
		return err
	}
	reason, err := a.hindrance(ctx)
	switch {
	case reason != "" || err != nil:
		return a.stayBehind(reason, err)
	case a.base != a.head.Commit:
		return errOtherBase
	}
	if err := a.noteConverted(ctx); err != nil {
		return err
	}
	locked, staged, err := a.update.Begin(a.head)
	if errors.Is(err, dotgit.ErrLocked) {
		return a.stayBehind(ReasonLocked, nil)
	}
	if err != nil {
		return err
	}
	for _, path := range staged {
		if !a.options.forces(path) {
			a.keep(Event{Path: path, Reason: ReasonStaged})
		}
	}
	for _, step := range []func(context.Context) error{a.rehearse, a.noteWriting, a.write} {
		if a.result.KeptCount == 0 && err == nil {
			err = step(ctx)
		}
	}
	if err != nil || a.result.KeptCount > 0 {
		return errors.Join(a.stayBehind(a.hindered, err), locked.Cancel())
	}
	stats, err := a.writtenStats(slices.Values(slices.Sorted(maps.Keys(a.wanted))))
	if err != nil {
		return errors.Join(err, locked.Cancel())
	}
	if err := locked.Finish(stats); err != nil {
		return err
	}
	a.result.Commit = a.update.Commit.String()
	return a.remember(a.repository, a.update.Incoming)
}

// isAhead reports whether the user's branch has the commits of the server's, and notes that.
func (a *advance) isAhead(ctx context.Context) (is bool, err error) {
	if a.isOurs() || a.head.Name == "" || a.head.Name != a.update.Branch() {
		return false, nil
	}
	if is, err = a.repository.IsAncestor(ctx, a.update.Commit, a.head.Commit); !is || err != nil {
		return false, err
	}
	return true, a.writeCloneState(cloneState{
		Head: a.head.Name, Tracked: a.update.Target.String(), Index: a.known.Index, Writing: a.known.Writing,
		Repository: a.options.Repository, Ref: a.options.Ref,
	})
}

// noteConverted has the state know the contents of files that attributes convert, where git has
// written them.
func (a *advance) noteConverted(ctx context.Context) error {
	converted, err := a.update.Converted(ctx)
	if err != nil || len(converted) == 0 {
		return err
	}
	objects := make(map[string]git.ID)
	for _, p := range a.update.Paths {
		objects[p.Path] = p.Old.ID
	}
	a.before.close() // its file is replaced
	err = a.replaceState(a.headerOf(a.header.Commit), none{}, func(old, _ *record) (*record, error) {
		if id, ok := converted[old.path]; ok && git.ID(old.id) == objects[old.path] {
			old.id = unpack.ID(id)
		}
		return old, nil
	})
	return errors.Join(err, a.readBefore())
}

// noteWriting has later runs know that files are those of the commit, until all of them are and HEAD as well.
func (a *advance) noteWriting(context.Context) error {
	if id := a.update.Commit.String(); !strings.Contains(a.known.Writing, id) {
		a.known.Writing += " " + id
	}
	return a.writeCloneState(a.known)
}

// write brings the files into the folder.
func (a *advance) write(ctx context.Context) error {
	in, err := a.changes()
	if err != nil {
		return err
	}
	return a.bring(ctx, in)
}

// stayBehind reports that the branch was not advanced.
func (a *advance) stayBehind(reason string, err error) error {
	if err == nil {
		a.result.Commit, a.result.Behind = a.head.Commit.String(), reason
		a.tell(Event{Event: EventBehind, Commit: a.update.Commit.String(), Base: a.result.Commit, Reason: reason})
	}
	return err
}

// hindrance returns why the branch may not be advanced, or "".
func (a *advance) hindrance(ctx context.Context) (string, error) {
	if a.repository.Unfinished() != "" {
		return ReasonUnfinished, nil
	}
	target := a.update.Branch()
	if elsewhere, err := a.repository.IsCheckedOutElsewhere(target); elsewhere || err != nil {
		return ReasonWorktree, err
	}
	switch {
	case a.head.Name != target && !a.isOurs():
		return ReasonElsewhere, nil
	case a.head.Name == target && (a.isOurs() || a.head.Commit == a.tracked) && a.repository.IsShallow():
		return "", nil // nothing is the user's, and the commits between may be cut
	}
	from := a.head.Commit
	if a.head.Name != target {
		if target == "" {
			return "", nil // no branch is moved
		}
		var err error
		if from, err = a.repository.Ref(target); from.IsZero() || err != nil {
			return "", err
		}
	}
	behind, err := a.repository.IsAncestor(ctx, from, a.update.Commit)
	if behind || err != nil {
		return "", err
	}
	return ReasonCommits, nil
}

// rehearse finds the files of the user's that are in the way.
func (a *advance) rehearse(ctx context.Context) (err error) {
	var kept []Event
	dry := *a.folder
	dry.options.DryRun = true
	dry.options.Events = func(e Event) {
		if e.Event == EventKeep {
			kept = append(kept, e)
		}
	}
	r, err := dry.newRun(a.base.String(), nil)
	if err != nil {
		return err
	}
	defer r.before.close()
	r.announced, r.wanted = a.announced, a.wanted
	if r.journal, err = createJournal(a.path(rehearsalName)); err != nil {
		return err
	}
	in, err := a.changes()
	if err == nil {
		err = r.unpack(ctx, in)
	}
	err = errors.Join(err, r.journal.close(), os.Remove(a.path(rehearsalName)), os.RemoveAll(a.path(previewName)))
	for _, e := range kept {
		a.keep(e)
	}
	return err
}

// changes is an archive of what differs, as a server would send it. Members that are not wanted are
// in it as well.
func (a *advance) changes() (io.Reader, error) {
	m := deltaManifest{Head: a.update.Commit.String(), Base: a.base.String()}
	a.wanted = make(map[string]bool)
	files := make(map[string]bool)   // a submodule is a folder, which takes the place of none
	emptied := make(map[string]bool) // folders
	for _, p := range a.update.Paths {
		if p.New.Mode != 0 {
			a.wanted[p.Path] = true
			files[p.Path] = !p.New.Mode.IsGitlink()
			continue
		}
		deleted := url.PathEscape(p.Path)
		if p.Old.Mode.IsGitlink() {
			deleted += "/"
		}
		m.Deleted = append(m.Deleted, deleted)
		for at := path.Dir(p.Path); at != "." && !emptied[at]; at = path.Dir(at) {
			emptied[at] = true
		}
	}
	for at := range emptied {
		if files[at] {
			m.TypeChanged = append(m.TypeChanged, url.PathEscape(at))
		}
	}
	front, err := m.archive()
	if err == nil {
		_, err = a.files.Seek(0, io.SeekStart)
	}
	return io.MultiReader(front, a.files), err
}
