package history

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/git/newest"
)

// tracer finds the versions of a file that lines come from, as git-blame(1) does. Lines that equal
// a parent's are traced on to the parent's version; other lines originate in the version itself.
// The newest commits are processed first, so that most versions have all their lines by then.
type tracer struct {
	source       *source
	contents     *lru.Cache[git.ID, []byte]
	left         int // remaining number of versions to examine
	revisions    map[version]*revision
	queue        newest.Queue[*revision] // versions with lines
	attributions []attribution
}

// version is a file in a commit, which has a number.
type version struct {
	commit uint32
	path   string
}

// revision is a version of the file with the lines that were traced to it.
type revision struct {
	version
	links
	entry
	lines []segment
}

// attribution is the origin of lines.
type attribution struct {
	segment
	revision *revision
	previous *revision // the version before; nil if the file was new
}

// begin returns the version at which tracing starts.
func (t *tracer) begin(v version) (*revision, error) {
	if err := t.source.confirm(v.commit); err != nil {
		return nil, err
	}
	commit, _, err := t.source.links(v.commit)
	if err != nil {
		return nil, err
	}
	found, err := t.source.lookup(commit, v.path)
	if err != nil {
		return nil, err
	}
	if found.mode == 0 || found.mode.IsDir() || found.mode.IsGitlink() {
		return nil, fmt.Errorf("file: %w", git.ErrNotFound)
	}
	return t.revision(v, commit, found), nil
}

// revision returns the entry of a version, which may be new.
func (t *tracer) revision(v version, commit links, found entry) *revision {
	r := t.revisions[v]
	if r == nil {
		r = &revision{version: v, links: commit, entry: found}
		t.revisions[v] = r
	}
	return r
}

// add traces lines to a version.
func (t *tracer) add(r *revision, lines []segment) {
	if len(lines) == 0 {
		return
	}
	if len(r.lines) == 0 {
		t.queue.Push(r.date, r)
	}
	r.lines = append(r.lines, lines...)
}

// run traces lines until the origins of all are known.
func (t *tracer) run() error {
	for t.queue.Len() > 0 {
		if t.left--; t.left < 0 {
			return fmt.Errorf("too many commits to look at; ask for fewer lines: %w", git.ErrTooLarge)
		}
		r := t.queue.Pop()
		// A child with an older date may lead here again, with other lines.
		delete(t.revisions, r.version)
		if err := t.trace(r); err != nil {
			return err
		}
	}
	return nil
}

// trace passes the lines of a version on to the parents' versions.
func (t *tracer) trace(r *revision) error {
	parents, err := t.parentVersions(r)
	if err != nil {
		return err
	}
	lines := r.lines
	r.lines = nil
	for _, parent := range parents {
		if len(lines) == 0 {
			return nil
		}
		changes, err := t.changes(parent, r)
		if err != nil {
			return err
		}
		var same []segment
		same, lines = divide(lines, changes)
		t.add(parent, same)
	}
	var previous *revision
	if len(parents) > 0 {
		previous = parents[0]
	}
	for _, s := range lines {
		t.attributions = append(t.attributions, attribution{s, r, previous})
	}
	return nil
}

// parentVersions returns the parents' versions of a file without duplicate contents. If a parent
// has identical content, its version is the only one: all lines may come from there. Renames are
// looked for only if no parent has identical content at the same path.
func (t *tracer) parentVersions(r *revision) ([]*revision, error) {
	versions := make([]*revision, len(r.parents))
	for i, parent := range r.parents {
		version, err := t.samePath(parent, r)
		if err != nil {
			return nil, err
		}
		if version != nil && version.id == r.id {
			return []*revision{version}, nil
		}
		versions[i] = version
	}
	if err := t.confirm(r); err != nil {
		return nil, err
	}
	var distinct []*revision
	for i, parent := range r.parents {
		version := versions[i]
		if version == nil {
			var err error
			if version, err = t.renamed(parent, r); err != nil {
				return nil, err
			}
		}
		switch {
		case version == nil:
		case version.id == r.id:
			return []*revision{version}, nil
		case !slices.ContainsFunc(distinct, func(d *revision) bool { return d.id == version.id }):
			distinct = append(distinct, version)
		}
	}
	return distinct, nil
}

// confirm compares the commit-graph's data with a commit that differs from its parents, and with
// the parents. The commits on the way to it are equal only according to the graph.
func (t *tracer) confirm(r *revision) error {
	if !t.source.claims.has(r.commit) {
		return nil
	}
	if err := t.source.confirm(append([]uint32{r.commit}, r.parents...)...); err != nil {
		return err
	}
	found, err := t.source.lookup(r.links, r.path)
	if err == nil && found != r.entry {
		err = errContradicted
	}
	return err
}

// samePath returns the parent's version of the same path, or nil.
func (t *tracer) samePath(parent uint32, r *revision) (*revision, error) {
	v := version{parent, r.path}
	if known := t.revisions[v]; known != nil {
		return known, nil
	}
	commit, _, err := t.source.links(parent)
	if err != nil {
		return nil, err
	}
	if r.parents[0] == parent && t.source.leavesUnchanged(r.links, r.path) {
		return t.revision(v, commit, r.entry), nil
	}
	if err := t.source.confirm(r.commit, parent); err != nil {
		return nil, err
	}
	found, err := t.source.lookup(commit, r.path)
	if err != nil || !sameKind(found.mode, r.mode) {
		return nil, err
	}
	return t.revision(v, commit, found), nil
}

// renamed returns the parent's file that was renamed to this one, or nil.
func (t *tracer) renamed(parent uint32, r *revision) (*revision, error) {
	commit, _, err := t.source.links(parent)
	if err != nil {
		return nil, err
	}
	path, found, err := t.source.renamedFrom(commit.tree, r.tree, r.path)
	if err != nil || path == "" {
		return nil, err
	}
	return t.revision(version{parent, path}, commit, found), nil
}

// sameKind reports whether git treats two modes as one type of file.
func sameKind(a, b git.Mode) bool {
	return a.IsRegular() && b.IsRegular() || a.IsSymlink() && b.IsSymlink()
}

// changes compares two versions.
func (t *tracer) changes(before, after *revision) ([]diff.Change, error) {
	if before.id == after.id {
		return nil, nil
	}
	a, err := t.read(before.id)
	if err != nil {
		return nil, err
	}
	b, err := t.read(after.id)
	if err != nil {
		return nil, err
	}
	changes, err := diff.Lines(t.source.ctx, a, b, diff.Options{TrimTail: true})
	if errors.Is(err, diff.ErrTooLarge) {
		err = fmt.Errorf("file: %w: %w", git.ErrTooLarge, err)
	}
	return changes, err
}

// maxContents bounds the cached contents besides the two being compared.
const maxContents = 2 * MaxBlameBytes

// read reads a version. Recent contents are cached: each is compared with its predecessor and with
// its successor.
func (t *tracer) read(id git.ID) ([]byte, error) {
	if content, ok := t.contents.Get(id); ok {
		return content, nil
	}
	content, err := t.source.ReadBlob(id, MaxBlameBytes, nil)
	switch {
	case errors.Is(err, git.ErrTooLarge):
		return nil, fmt.Errorf("a version of the file has more than %d bytes: %w", MaxBlameBytes, git.ErrTooLarge)
	case err != nil:
		return nil, git.MustExist(id, err)
	case len(content) > MaxBlameLines && bytes.Count(content, []byte{'\n'}) > MaxBlameLines:
		return nil, fmt.Errorf("a version of the file has more than %d lines: %w", MaxBlameLines, git.ErrTooLarge)
	}
	t.contents.Put(id, content, int64(len(content)))
	return content, nil
}

// segment is a run of lines of the blamed file, with its position in an older version. Lines are
// counted from 0.
type segment struct {
	line     int // first line in the file
	original int // first line in the version
	count    int
}

// split divides a segment after at most the given number of lines.
func (s segment) split(lines int) (first, rest segment) {
	lines = min(max(lines, 0), s.count)
	return segment{s.line, s.original, lines}, segment{s.line + lines, s.original + lines, s.count - lines}
}

// divide separates lines that the changes leave equal, with their older positions, from changed
// lines.
func divide(segments []segment, changes []diff.Change) (same, changed []segment) {
	keep := func(s segment, shift int) {
		if s.count > 0 {
			same = append(same, segment{s.line, s.original + shift, s.count})
		}
	}
	shiftAtEnd := 0
	if n := len(changes); n > 0 {
		last := changes[n-1]
		shiftAtEnd = last.A + last.ALines - last.B - last.BLines
	}
	for _, s := range segments {
		next, _ := slices.BinarySearchFunc(changes, s.original, func(c diff.Change, line int) int {
			return cmp.Compare(c.B+c.BLines, line+1)
		})
		for ; s.count > 0 && next < len(changes); next++ {
			c := changes[next]
			before, rest := s.split(c.B - s.original)
			keep(before, c.A-c.B)
			within, rest := rest.split(c.B + c.BLines - rest.original)
			if within.count > 0 {
				changed = append(changed, within)
			}
			s = rest
		}
		keep(s, shiftAtEnd)
	}
	return same, changed
}
