package history

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/repomcp/repomcp/internal/diff"
	"github.com/repomcp/repomcp/internal/repos"
)

// board is the state of a blame, whose answers are those of git-blame(1): each
// version of the file has shares of the final lines that it may have brought.
// The newest commit is taken from the queue, and what its version shares with
// that of a parent goes over to the parent; the rest it has brought itself.
type board struct {
	source *source
	blobs  blobs
	left   int // commits that may still be looked at

	commits map[repos.ID]*suspect // those in the queue and around
	queue   newest[*suspect]
	found   []verdict
}

// share is a run of lines of the final file and where it is in a version of it.
// Lines are counted from 0.
type share struct {
	line, original, count int
}

// holder is a version of the file that shares may come from.
type holder struct {
	commit *suspect
	path   string
	entry
	shares   []share // by original
	previous *holder
}

// suspect is a commit with versions of the file.
type suspect struct {
	id repos.ID
	links
	holders []*holder
}

// verdict is a share whose commit was found.
type verdict struct {
	share
	by *holder
}

// start is the final version.
func (b *board) start(id repos.ID, path string) (*holder, error) {
	if err := b.source.confirm(id); err != nil {
		return nil, err
	}
	commit, err := b.commit(id)
	if err != nil {
		return nil, err
	}
	found, err := b.source.lookup(commit.tree, path)
	if err != nil {
		return nil, err
	}
	if found.mode == 0 || found.mode.IsDir() || found.mode.IsGitlink() {
		return nil, fmt.Errorf("file: %w", repos.ErrNotFound)
	}
	return commit.holder(path, found), nil
}

func (b *board) commit(id repos.ID) (*suspect, error) {
	if known := b.commits[id]; known != nil {
		return known, nil
	}
	links, _, err := b.source.links(id)
	if err != nil {
		return nil, err
	}
	commit := &suspect{id: id, links: links}
	b.commits[id] = commit
	return commit, nil
}

// holder gives the version with a path, which may be new here.
func (c *suspect) holder(path string, found entry) *holder {
	if known := c.known(path); known != nil {
		return known
	}
	h := &holder{commit: c, path: path, entry: found}
	c.holders = append(c.holders, h)
	return h
}

func (c *suspect) known(path string) *holder {
	for _, h := range c.holders {
		if h.path == path {
			return h
		}
	}
	return nil
}

// give adds shares to a version; its commit is then looked at.
func (b *board) give(h *holder, shares []share) {
	if len(shares) == 0 {
		return
	}
	waiting := slices.ContainsFunc(h.commit.holders, func(h *holder) bool { return len(h.shares) > 0 })
	h.shares = append(h.shares, shares...)
	slices.SortFunc(h.shares, func(x, y share) int {
		return cmp.Or(x.original-y.original, x.line-y.line)
	})
	if waiting {
		return
	}
	b.queue.push(h.commit.date, h.commit)
}

// run judges the versions of each commit, the newest first, until no share is
// without a commit.
func (b *board) run() error {
	for !b.queue.empty() {
		commit := b.queue.pop()
		for _, h := range commit.holders {
			if err := b.judge(h); err != nil {
				return err
			}
		}
		// Should a child that is older by its clock lead here again, it is
		// looked at again.
		delete(b.commits, commit.id)
	}
	return nil
}

// judge passes shares of a version to the parents and keeps the rest.
func (b *board) judge(h *holder) error {
	if len(h.shares) == 0 {
		return nil
	}
	if b.left--; b.left < 0 {
		return fmt.Errorf("too many commits to look at; ask for fewer lines: %w", repos.ErrTooLarge)
	}
	if err := b.pass(h); err != nil {
		return err
	}
	for _, s := range h.shares {
		b.found = append(b.found, verdict{s, h})
	}
	h.shares = nil
	return nil
}

// pass finds the parents' versions, first those of the same path and then renamed
// ones. One with the same content takes all; the others are compared in turn.
func (b *board) pass(h *holder) error {
	versions := make([]*holder, len(h.commit.parents))
	for n, find := range []func(*suspect, *holder) (*holder, error){b.samePath, b.renamed} {
		if n > 0 {
			if err := b.confirm(h); err != nil {
				return err
			}
		}
		for i, id := range h.commit.parents {
			if versions[i] != nil {
				continue
			}
			parent, err := b.commit(id)
			if err != nil {
				return err
			}
			version, err := find(parent, h)
			if err != nil {
				return err
			}
			if version == nil {
				continue
			}
			if version.id == h.id {
				b.give(version, h.shares)
				h.shares = nil
				return nil
			}
			if !slices.ContainsFunc(versions[:i], func(v *holder) bool { return v != nil && v.id == version.id }) {
				versions[i] = version
			}
		}
	}
	for _, version := range versions {
		if version == nil || len(h.shares) == 0 {
			continue
		}
		if h.previous == nil {
			h.previous = version
		}
		if err := b.compare(h, version); err != nil {
			return err
		}
	}
	return nil
}

// confirm compares the commit-graph with a commit that differs from its parents, and
// with those. The version has been found by way of commits that the graph says are
// the same.
func (b *board) confirm(h *holder) error {
	if h.commit.at == 0 {
		return nil
	}
	if err := b.source.confirm(append([]repos.ID{h.commit.id}, h.commit.parents...)...); err != nil {
		return err
	}
	found, err := b.source.lookup(h.commit.tree, h.path)
	if err == nil && found != h.entry {
		err = errContradicted
	}
	return err
}

// samePath returns the parent's version of the same path.
func (b *board) samePath(parent *suspect, h *holder) (*holder, error) {
	if known := parent.known(h.path); known != nil {
		return known, nil
	}
	if h.commit.parents[0] == parent.id && b.source.claims.keeps(h.commit.links, h.path) {
		return parent.holder(h.path, h.entry), nil
	}
	if err := b.source.confirm(h.commit.id, parent.id); err != nil {
		return nil, err
	}
	found, err := b.source.lookup(parent.tree, h.path)
	if err != nil || !sameKind(found.mode, h.mode) {
		return nil, err
	}
	return parent.holder(h.path, found), nil
}

// renamed returns the parent's file that became this one.
func (b *board) renamed(parent *suspect, h *holder) (*holder, error) {
	path, found, err := b.source.renamedFrom(parent.tree, h.commit.tree, h.path)
	if err != nil || path == "" {
		return nil, err
	}
	return parent.holder(path, found), nil
}

// sameKind reports whether git calls it a change and not another type.
func sameKind(a, b repos.Mode) bool {
	return a.IsRegular() && b.IsRegular() || a.IsSymlink() && b.IsSymlink()
}

// compare passes to the parent's version what did not change since.
func (b *board) compare(h, parent *holder) error {
	before, err := b.content(parent)
	if err != nil {
		return err
	}
	after, err := b.content(h)
	if err != nil {
		return err
	}
	changes, err := diff.Lines(b.source.ctx, before, after, diff.Options{TrimTail: true})
	if errors.Is(err, diff.ErrTooLarge) {
		return fmt.Errorf("file: %w: %w", repos.ErrTooLarge, err)
	}
	if err != nil {
		return err
	}
	same, kept := divide(h.shares, changes)
	h.shares = kept
	b.give(parent, same)
	return nil
}

// divide cuts shares where changes begin and end: what is in none of them is
// the same as in the parent, some lines above or below.
func divide(shares []share, changes []diff.Change) (same, kept []share) {
	for _, s := range shares {
		i, _ := slices.BinarySearchFunc(changes, s.original, func(c diff.Change, line int) int {
			return cmp.Compare(c.B+c.BLines, line+1)
		})
		for ; s.count > 0; i++ {
			offset, until := gap(changes, i)
			if n := min(s.count, until-s.original); n > 0 {
				same = append(same, share{s.line, s.original + offset, n})
				s = s.after(n)
			}
			if s.count == 0 {
				break
			}
			if n := min(s.count, changes[i].B+changes[i].BLines-s.original); n > 0 {
				kept = append(kept, share{s.line, s.original, n})
				s = s.after(n)
			}
		}
	}
	return same, kept
}

func (s share) after(n int) share { return share{s.line + n, s.original + n, s.count - n} }

// gap says how far lines before a change, and after the one before it, are from
// where the parent has them, and where the change begins.
func gap(changes []diff.Change, i int) (offset, until int) {
	switch {
	case i < len(changes):
		return changes[i].A - changes[i].B, changes[i].B
	case i > 0:
		last := changes[i-1]
		return last.A + last.ALines - last.B - last.BLines, math.MaxInt
	default:
		return 0, math.MaxInt
	}
}

// content reads a version.
func (b *board) content(h *holder) ([]byte, error) {
	content, err := b.blobs.read(h.id)
	if errors.Is(err, repos.ErrTooLarge) {
		return nil, fmt.Errorf("a version of the file has more than %d bytes: %w", MaxBlameBytes, repos.ErrTooLarge)
	}
	if len(content) > MaxBlameLines && bytes.Count(content, []byte{'\n'}) > MaxBlameLines {
		return nil, fmt.Errorf("a version of the file has more than %d lines: %w", MaxBlameLines, repos.ErrTooLarge)
	}
	return content, err
}

// blobs keeps the contents that were read last: each is compared with what is
// before it and with what comes after it.
type blobs struct {
	source *source
	known  map[repos.ID][]byte
	order  []repos.ID
	bytes  int
}

// maxBlobs bounds what is kept besides the two that are compared.
const maxBlobs = 2 * MaxBlameBytes

func (b *blobs) read(id repos.ID) ([]byte, error) {
	if content, ok := b.known[id]; ok {
		return content, nil
	}
	content, err := b.source.ReadBlob(id, MaxBlameBytes, nil)
	if errors.Is(err, repos.ErrNotFound) {
		return nil, fmt.Errorf("object %s is missing: %w", id, repos.ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	if b.known == nil {
		b.known = make(map[repos.ID][]byte)
	}
	b.known[id] = content
	b.order = append(b.order, id)
	for b.bytes += len(content); b.bytes > maxBlobs; b.order = b.order[1:] {
		b.bytes -= len(b.known[b.order[0]])
		delete(b.known, b.order[0])
	}
	return content, nil
}
