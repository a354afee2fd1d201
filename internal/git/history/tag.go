package history

import (
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/message"
)

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
