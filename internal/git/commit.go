package git

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git/charset"
	"github.com/repomcp/repomcp/internal/git/message"
)

// maxCommitBytes bounds a commit or tag object: git has no bound, but a message of megabytes is an
// attack.
const maxCommitBytes = 16 << 20

// Commit is the part of a commit object that readers of files need; [Snapshot.RawCommit] has the rest.
type Commit struct {
	ID        ID
	Tree      ID
	Parents   []ID
	Author    Person
	Committer Person
	// Date is the committer's time as git uses it for the files of an archive: in seconds since
	// 1970, where a sign makes a number of the far future.
	Date    uint64
	Message string
}

// Subject is the first line of the message.
func (c Commit) Subject() string {
	subject, _, _ := strings.Cut(strings.TrimLeft(c.Message, "\n"), "\n")
	return subject
}

// parseCommit parses the format that git-commit-tree writes: header lines up to an empty line, then
// the message.
func parseCommit(id ID, content []byte) (Commit, error) {
	links, err := ParseCommitLinks(id, content)
	if err != nil {
		return Commit{}, err
	}
	if links.Tree.IsZero() {
		return Commit{}, damage(id, errNoTree)
	}
	text := cutCommitText(string(content))
	author, _ := ParsePerson(text.Author) // old histories have malformed lines
	committer, _ := ParsePerson(text.Committer)
	return Commit{
		ID: id, Tree: links.Tree, Parents: links.Parents, Date: links.Date, Message: text.Message,
		Author: author, Committer: committer,
	}, nil
}

// CommitLinks are the tree, the parents and the date of a commit object, which have fixed places at
// its beginning.
type CommitLinks struct {
	Tree    ID
	Parents []ID
	// Date is the committer's, in seconds since 1970. Git has no sign for it, so a date before 1970
	// wraps around and is later than all others; a commit without a readable date has 0.
	Date uint64
}

const (
	idDigits   = 2 * len(ID{})
	treeLine   = "tree "
	parentLine = "parent "
	// maxDateBytes is how far the date is searched in the author and committer lines of a commit:
	// no real name is longer.
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
	for bytes.HasPrefix(rest, []byte(parentLine)) && len(rest) > len(parentLine)+idDigits {
		var parent ID
		if rest, parent, ok = cutIDLine(rest, parentLine); !ok {
			return CommitLinks{}, damage(id, errBadParent)
		}
		l.Parents = append(l.Parents, parent)
	}
	l.Date = committerDate(string(rest[:min(len(rest), maxDateBytes)]))
	return l, nil
}

func cutIDLine(raw []byte, key string) (rest []byte, id ID, ok bool) {
	end := len(key) + idDigits
	if len(raw) <= end || !bytes.HasPrefix(raw, []byte(key)) || raw[end] != '\n' {
		return raw, ID{}, false
	}
	if _, err := hex.Decode(id[:], raw[len(key):end]); err != nil {
		return raw, ID{}, false
	}
	return raw[end+1:], id, true
}

// committerDate reads the number after the committer's address, if the lines of author and
// committer have their usual places.
func committerDate(people string) uint64 {
	author, rest, _ := strings.Cut(people, "\n")
	if !strings.HasPrefix(author, "author") || !strings.HasPrefix(rest, "committer") {
		return 0
	}
	_, when, found := strings.Cut(rest, ">")
	// Git finds no date if the line ends the commit object: it requires bytes after the line.
	if end := strings.IndexByte(when, '\n'); !found || end < 0 || end == len(when)-1 {
		return 0
	}
	return ParseSeconds(when)
}

// CommitText is the content of a commit object besides its links.
type CommitText struct {
	// Author and Committer are the lines for [ParsePerson]. The last of several lines counts.
	Author, Committer string
	// Encoding is the value of that header, nil without one.
	Encoding *string
	// Signature is the first line of the header gpgsig, "" without one.
	Signature string
	// Message is everything after the header.
	Message string
}

// ParseCommitText parses a commit object up to its first NUL. The result is in UTF-8 if the commit
// names its encoding and all of it can be converted; otherwise it has the bytes that git prints.
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

// ParseTagTarget reads the object that an annotated tag names.
func ParseTagTarget(id ID, content []byte) (ID, error) {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	hex, ok := strings.CutPrefix(string(line), "object ")
	if !ok {
		return ID{}, damage(id, errors.New("tag names no object"))
	}
	target, err := ParseID(hex)
	if err != nil {
		return ID{}, damage(id, err)
	}
	return target, nil
}

// Person is an author, committer or tagger, with the date.
type Person struct {
	Name  string
	Email string
	// Seconds are counted from 1970; 0 without a date.
	Seconds uint64
	// Digits are the seconds as they are stored, such as 0012 or a number that is too large for
	// Seconds.
	Digits string
	// Zone is a sign and digits as they are stored, such as +0200; "" without a date.
	Zone string
}

// ParsePerson divides "NAME <EMAIL> SECONDS ZONE". The address ends at the first ">", and the date
// begins after the last one, since old histories have malformed lines. ok is false for a line
// without an address.
func ParsePerson(line string) (p Person, ok bool) {
	name, rest, found := strings.Cut(line, "<")
	email, _, closed := strings.Cut(rest, ">")
	if !found || !closed {
		return Person{}, false
	}
	p = Person{Name: strings.TrimRight(name, message.Blanks), Email: email}
	when := strings.TrimLeft(line[strings.LastIndexByte(line, '>')+1:], message.Blanks)
	digits := leadingDigits(when)
	zone := strings.TrimLeft(when[digits:], message.Blanks)
	if digits == 0 || zone == "" || zone[0] != '+' && zone[0] != '-' {
		return p, true
	}
	if n := leadingDigits(zone[1:]); n > 0 {
		p.Digits, p.Seconds, p.Zone = when[:digits], ParseSeconds(when[:digits]), zone[:1+n]
	}
	return p, true
}

const (
	// maxSeconds is the end of the year 9999, after which RFC 3339 has no dates.
	maxSeconds = 253402300799
	// maxZone is the largest number of four digits.
	maxZone = 9999
)

// When is the moment and the zone. A date that time.Time cannot represent is 1970.
func (p Person) When() time.Time {
	seconds := p.Seconds
	if seconds > maxSeconds {
		seconds = 0
	}
	return time.Unix(int64(seconds), 0).In(parseZone(p.Zone))
}

// parseZone reads git's "+hhmm".
func parseZone(s string) *time.Location {
	n, err := strconv.Atoi(s)
	if err != nil || n == 0 || n < -maxZone || n > maxZone {
		return time.UTC
	}
	return time.FixedZone(s, (n/100*60+n%100)*60)
}

// ParseSeconds reads the seconds at the beginning of a date. Blanks and a sign may precede the
// digits. A string without a number is 0, a number that is too large is the largest, and a minus
// wraps around.
func ParseSeconds(when string) uint64 {
	when = strings.TrimLeft(when, message.Blanks+"\v\f")
	digits := strings.TrimLeft(when, "+-")
	if len(when)-len(digits) > 1 {
		return 0
	}
	seconds, err := strconv.ParseUint(digits[:leadingDigits(digits)], 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return math.MaxUint64
	case err == nil && when[0] == '-':
		return -seconds
	default:
		return seconds
	}
}

func leadingDigits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
