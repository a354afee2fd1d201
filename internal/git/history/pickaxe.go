package history

import (
	"bytes"
	"errors"
	"regexp"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
)

// maxCounted bounds the cached counts of occurrences: the content before one commit is the content
// after the next one to be examined.
const maxCounted = 50_000

// pickaxe finds commits by their changes in files, as git-log(1) describes for -S and -G.
type pickaxe struct {
	text  []byte         // -S
	lines *regexp.Regexp // -G

	left     int64 // remaining bytes to read
	counted  map[git.ID]int
	partial  int  // commits that were not searched completely
	skipped  bool // part of the current commit was not searched
	old, new []byte
}

func newPickaxe(o LogOptions) pickaxe {
	return pickaxe{
		text: []byte(o.Pickaxe), lines: o.PickaxeLines, left: o.MaxCompared, counted: make(map[git.ID]int),
	}
}

func (p *pickaxe) isSet() bool { return len(p.text) > 0 || p.lines != nil }

// passesPickaxe reports whether a commit matches the pickaxe.
func (w *walk) passesPickaxe(before, after git.ID) (bool, error) {
	var o CompareOptions
	for _, limit := range w.limits {
		o.Paths = append(o.Paths, limit.String())
	}
	files, err := w.source.treeChanges(before, after, o)
	if errors.Is(err, ErrTooMany) {
		w.pickaxe.partial++
		return false, nil
	}
	if err != nil {
		return false, err
	}
	found, err := w.pickaxe.findsIn(w.source, files)
	if w.pickaxe.skipped {
		w.pickaxe.partial, w.pickaxe.skipped = w.pickaxe.partial+1, false
	}
	return found, err
}

// findsIn searches the files that a commit changes. Added and deleted files may be renames, which
// only need to be detected if one of them matches.
func (p *pickaxe) findsIn(s *source, files []FileChange) (bool, error) {
	mayBeMoved := false
	for _, f := range files {
		found, err := p.findsInFile(s, f)
		if err != nil {
			return false, err
		}
		if found && f.Status != Added && f.Status != Deleted {
			return true, nil
		}
		mayBeMoved = mayBeMoved || found
	}
	if !mayBeMoved {
		return false, nil
	}
	compared, err := s.findRenames(files, false, maxChunks)
	if err != nil {
		return false, err
	}
	for _, f := range compared.Files {
		if f.Status == Modified || f.Status == TypeChanged {
			continue // already searched
		}
		if found, err := p.findsInFile(s, f); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

func (p *pickaxe) findsInFile(s *source, f FileChange) (bool, error) {
	if f.OldID == f.NewID {
		return false, nil // only the mode or name changed
	}
	if p.lines != nil {
		return p.changesLines(s, f)
	}
	before, err := p.count(s, f.OldMode, f.OldID)
	if err != nil {
		return false, err
	}
	after, err := p.count(s, f.NewMode, f.NewID)
	return before != after, err
}

// count returns the number of occurrences in a file, without overlaps.
func (p *pickaxe) count(s *source, mode git.Mode, id git.ID) (int, error) {
	if n, known := p.counted[id]; known || mode == 0 {
		return n, nil
	}
	var err error
	if p.new, err = p.content(s, mode, id, p.new); err != nil {
		return 0, err
	}
	if len(p.counted) >= maxCounted {
		clear(p.counted)
	}
	n := bytes.Count(p.new, p.text)
	p.counted[id] = n
	return n, nil
}

// content reads a file; a too large one is empty.
func (p *pickaxe) content(s *source, mode git.Mode, id git.ID, buf []byte) ([]byte, error) {
	if err := s.ctx.Err(); err != nil || mode == 0 {
		return buf[:0], err
	}
	if mode.IsGitlink() {
		return appendSubmodule(buf[:0], id), nil
	}
	content, err := s.ReadBlob(id, DefaultMaxPatchBytes, buf[:0])
	if errors.Is(err, git.ErrTooLarge) {
		p.skipped = true
		return buf[:0], nil
	}
	p.left -= int64(len(content))
	return content, git.MustExist(id, err)
}

// changesLines reports whether a matching line is added or deleted. Binary files have no lines.
func (p *pickaxe) changesLines(s *source, f FileChange) (_ bool, err error) {
	if p.old, err = p.content(s, f.OldMode, f.OldID, p.old); err != nil {
		return false, err
	}
	if p.new, err = p.content(s, f.NewMode, f.NewID, p.new); err != nil {
		return false, err
	}
	if diff.Binary(p.old) || diff.Binary(p.new) {
		return false, nil
	}
	if diff.CountLines(p.old) > MaxPatchLines || diff.CountLines(p.new) > MaxPatchLines {
		p.skipped = true
		return false, nil
	}
	changes, err := diff.Lines(s.ctx, p.old, p.new, diff.Options{TrimTail: true})
	if err != nil {
		return false, err
	}
	before, after := lineStarts(p.old), lineStarts(p.new)
	for _, c := range changes {
		if p.inLines(p.old, before[c.A:c.A+c.ALines+1]) || p.inLines(p.new, after[c.B:c.B+c.BLines+1]) {
			return true, nil
		}
	}
	return false, nil
}

// inLines reports whether one of the lines matches; starts are the offsets of lines and the end.
func (p *pickaxe) inLines(text []byte, starts []int) bool {
	for i, start := range starts[:len(starts)-1] {
		if p.lines.Match(bytes.TrimSuffix(text[start:starts[i+1]], []byte("\n"))) {
			return true
		}
	}
	return false
}
