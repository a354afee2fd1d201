package repos

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/charset"
)

// maxCommitBytes bounds a commit or tag object: git has no bound, but a
// message of megabytes is an attack.
const maxCommitBytes = 16 << 20

// Commit is the part of a commit object that is served.
type Commit struct {
	ID        ID
	Tree      ID
	Parents   []ID
	Author    Person
	Committer Person
	// Date is the committer's time as git takes it for the files of an archive:
	// in seconds since 1970, where a sign makes a number of the far future.
	Date    uint64
	Message string
}

// Subject is the first line of the message.
func (c Commit) Subject() string {
	subject, _, _ := strings.Cut(strings.TrimLeft(c.Message, "\n"), "\n")
	return subject
}

// parseCommit reads the format that git-commit-tree writes: header lines up to
// an empty line, then the message.
func parseCommit(id ID, content []byte) (Commit, error) {
	links, err := ParseCommitLinks(id, content)
	if err != nil {
		return Commit{}, err
	}
	if links.Tree.IsZero() {
		return Commit{}, damage(id, errNoTree)
	}
	text := cutCommitText(string(content))
	author, _ := ParsePerson(text.Author) // old histories have broken lines
	committer, _ := ParsePerson(text.Committer)
	return Commit{
		ID: id, Tree: links.Tree, Parents: links.Parents, Date: links.Date, Message: text.Message,
		Author: author, Committer: committer,
	}, nil
}

// CommitLinks are the tree, the parents and the date of a commit object, which
// stand at fixed places at its beginning.
type CommitLinks struct {
	Tree    ID
	Parents []ID
	// Date is the committer's, in seconds since 1970. As git has no sign for it,
	// one before 1970 wraps around and is later than all others; a commit without
	// a readable date has 0.
	Date uint64
}

const (
	idDigits   = 2 * len(ID{})
	treeLine   = "tree "
	parentLine = "parent "
	// maxDateBytes is how far into the people of a commit its date is looked for:
	// longer names are no names.
	maxDateBytes = 64 << 10
)

var (
	errNoTree    = errors.New("names no tree")
	errBadParent = errors.New("names a parent that is no id")
)

// ParseCommitLinks reads the beginning of a commit object.
func ParseCommitLinks(id ID, raw []byte) (l CommitLinks, err error) {
	rest, tree, ok := cutIDLine(raw, treeLine)
	if !ok || len(rest) == 0 {
		return CommitLinks{}, damage(id, errNoTree)
	}
	l.Tree = tree
	for hasPrefix(rest, parentLine) && len(rest) > len(parentLine)+idDigits {
		var parent ID
		if rest, parent, ok = cutIDLine(rest, parentLine); !ok {
			return CommitLinks{}, damage(id, errBadParent)
		}
		l.Parents = append(l.Parents, parent)
	}
	l.Date = committerDate(string(rest[:min(len(rest), maxDateBytes)]))
	return l, nil
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

func cutIDLine(raw []byte, key string) (rest []byte, id ID, ok bool) {
	end := len(key) + idDigits
	if len(raw) <= end || !hasPrefix(raw, key) || raw[end] != '\n' {
		return raw, ID{}, false
	}
	if _, err := hex.Decode(id[:], raw[len(key):end]); err != nil {
		return raw, ID{}, false
	}
	return raw[end+1:], id, true
}

// committerDate reads the number after the committer's address, when the lines of
// author and committer have their usual places.
func committerDate(people string) uint64 {
	author, rest, _ := strings.Cut(people, "\n")
	if !strings.HasPrefix(author, "author") || !strings.HasPrefix(rest, "committer") {
		return 0
	}
	_, when, found := strings.Cut(rest, ">")
	// A line that ends the commit has no date for git, which looks for what follows.
	if end := strings.IndexByte(when, '\n'); !found || end < 0 || end == len(when)-1 {
		return 0
	}
	return ParseSeconds(when)
}

// CommitText is what a commit object says besides its links.
type CommitText struct {
	// Author and Committer are the lines for [ParsePerson]. Of several lines the
	// last counts.
	Author, Committer string
	// Encoding is what the header of that name says, nil without one.
	Encoding *string
	// Signature is the first line of the header gpgsig, "" without one.
	Signature string
	// Message is everything after the header.
	Message string
}

// ParseCommitText reads a commit object up to its first NUL. What it returns is
// in UTF-8 where the commit names its encoding and all of it can be converted;
// otherwise it is the bytes that git prints.
func ParseCommitText(raw []byte) CommitText {
	stored, _, _ := strings.Cut(string(raw), "\x00")
	text := cutCommitText(stored)
	if text.Encoding == nil || charset.Same(*text.Encoding, charset.UTF8) {
		return text
	}
	readable := cutCommitText(charset.Decode(stored, *text.Encoding))
	readable.Encoding, readable.Signature = text.Encoding, text.Signature
	return readable
}

func cutCommitText(stored string) (text CommitText) {
	for stored != "" {
		line, rest, _ := strings.Cut(stored, "\n")
		if line == "" {
			text.Message = rest
			break
		}
		switch key, value, found := strings.Cut(line, " "); {
		case !found:
		case key == "author":
			text.Author = value
		case key == "committer":
			text.Committer = value
		case key == "encoding" && text.Encoding == nil:
			text.Encoding = &value
		case key == "gpgsig" && text.Signature == "":
			text.Signature = value
		}
		stored = rest
	}
	return text
}

// parseTagTarget reads the object that an annotated tag names.
func parseTagTarget(id ID, content []byte) (ID, error) {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	hex, ok := strings.CutPrefix(string(line), "object ")
	if !ok {
		return ID{}, damage(id, fmt.Errorf("tag names no object"))
	}
	target, err := ParseID(hex)
	if err != nil {
		return ID{}, damage(id, err)
	}
	return target, nil
}
