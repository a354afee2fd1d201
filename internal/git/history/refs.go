package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/message"
)

// RefDates returns the creatordate of refs (git-for-each-ref(1)) in seconds since 1970: the
// tagger's date of an annotated tag, the committer's of a commit, and 0 for other and unreadable
// objects. It caches dates in cache.
func RefDates(ctx context.Context, snapshot *git.Snapshot, cache *Cache, refs []git.Ref) ([]uint64, error) {
	s, err := newSource(ctx, snapshot, cache)
	if err != nil {
		return nil, err
	}
	dates := make([]uint64, len(refs))
	for i, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if ref.Target == ref.Commit {
			if found, _, err := s.links(s.number(ref.Commit)); err == nil {
				dates[i] = found.date
			}
			continue
		}
		n := s.ancestry.number(ref.Target)
		found, known := s.ancestry.recall(n)
		if !known {
			// Only the date of a tag is cached. Its id is no commit's, so the other fields are
			// never read.
			if tag, err := ReadTag(snapshot, ref.Target); err == nil {
				found = s.ancestry.remember(n, git.CommitLinks{Date: tag.Tagger.Seconds})
			}
		}
		dates[i] = found.date
	}
	return dates, nil
}

// Containing returns which commits reach another: git branch --contains. It may have to examine all
// history.
func Containing(
	ctx context.Context, snapshot *git.Snapshot, cache *Cache, target git.ID, commits []git.ID,
) ([]bool, error) {
	return withCommitGraph(ctx, snapshot, cache, func(s *source) ([]bool, error) {
		wanted := s.number(target)
		if err := s.confirm(wanted); err != nil {
			return nil, err
		}
		to, _, err := s.links(wanted)
		if err != nil {
			return nil, err
		}
		leads := map[uint32]bool{wanted: true}
		list := make([]bool, len(commits))
		for i, id := range commits {
			if id.IsZero() {
				continue
			}
			n := s.number(id)
			err := s.confirm(n)
			if err == nil {
				list[i], err = s.leadsTo(n, to, leads)
			}
			if err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

// leadsTo searches depth first, and records its answers in leads. If a commit reaches the target,
// all commits on the path to it do as well.
func (s *source) leadsTo(start uint32, to links, leads map[uint32]bool) (bool, error) {
	type stop struct {
		number uint32
		rest   []uint32 // parents not yet visited
	}
	if yes, known := leads[start]; known {
		return yes, nil
	}
	found, _, err := s.links(start)
	if err != nil {
		return false, err
	}
	for way := []stop{{start, found.parents}}; len(way) > 0; {
		at := &way[len(way)-1]
		if len(at.rest) == 0 {
			leads[at.number], way = false, way[:len(way)-1]
			continue
		}
		parent := at.rest[0]
		yes, known := leads[parent]
		if yes {
			for _, passed := range way {
				leads[passed.number] = true
			}
			return true, nil
		}
		at.rest = at.rest[1:]
		if known {
			continue
		}
		if len(leads)+len(way) > maxPainted {
			return false, fmt.Errorf("more than %d commits of history: %w", maxPainted, git.ErrTooLarge)
		}
		if found, _, err = s.links(parent); err != nil {
			return false, err
		}
		if !s.claims.mayLead(found, to) {
			found.parents = nil
		}
		way = append(way, stop{parent, found.parents})
	}
	return false, nil
}

// Tag is an annotated tag.
type Tag struct {
	ID git.ID
	// Target is the tagged object, and Kind its type: commit, tree, blob or tag.
	Target git.ID
	Kind   string
	Name   string // from the tag object
	Tagger Person // zero if the tag names none
	// Message is everything after the header, without the signature.
	Message string
	// Signature is the signature at the end of the message (git-tag(1), -s), or "".
	Signature string
}

// ReadTag reads an annotated tag. Another object is [git.ErrNotFound].
func ReadTag(snapshot *git.Snapshot, id git.ID) (Tag, error) {
	raw, err := snapshot.RawTag(id)
	if err != nil {
		return Tag{}, err
	}
	return parseTag(id, raw)
}

func parseTag(id git.ID, raw []byte) (t Tag, err error) {
	t.ID = id
	header, text, _ := strings.Cut(readable(raw), "\n\n")
	for line := range strings.SplitSeq(header, "\n") {
		switch key, value, _ := strings.Cut(line, " "); key {
		case "object":
			if t.Target, err = git.ParseID(value); err != nil {
				return Tag{}, damaged(id, "names no object")
			}
		case "type":
			t.Kind = value
		case "tag":
			t.Name = value
		case "tagger":
			t.Tagger = parsePerson(value)
		}
	}
	t.Message, t.Signature = cutSignature(text)
	return t, nil
}

// cutSignature divides a message before the last line that begins a signature.
func cutSignature(text string) (before, signature string) {
	at, end := len(text), 0
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(message.Signatures, func(begin string) bool { return strings.HasPrefix(line, begin) }) {
			at = end
		}
		end += len(line)
	}
	return text[:at], text[at:]
}

// Subject returns the first paragraph of the message in one line.
func (t Tag) Subject() string {
	subject, _ := message.CutSubject(message.SkipBlankLines(t.Message))
	return subject
}
