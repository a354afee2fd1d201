package history

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/charset"
	"github.com/repomcp/repomcp/internal/message"
	"github.com/repomcp/repomcp/internal/repos"
)

// Commit is what is shown of a commit. Its texts are in UTF-8 where the commit
// tells its encoding and keeps to it; otherwise they are the bytes that git
// would print.
type Commit struct {
	ID   repos.ID
	Tree repos.ID
	// Parents are none where a shallow history ends.
	Parents   []repos.ID
	Author    Person
	Committer Person
	// Message is everything after the header, git's %B with the line feeds at
	// its end.
	Message string

	stored int // bytes, which the texts keep in memory
}

// Person is who did something and when. Names are those of the commit, unless a
// Mailmap says otherwise.
type Person struct {
	Name  string
	Email string
	// Seconds are counted from 1970; 0 where the commit has no date.
	Seconds uint64
	// Zone is a sign and digits as the commit has them, such as +0200; "" where
	// it has no date.
	Zone string
}

// When is the moment and the zone. What time.Time cannot hold is 1970.
func (p Person) When() time.Time {
	seconds := p.Seconds
	if seconds > maxSeconds {
		seconds = 0
	}
	at := time.Unix(int64(seconds), 0).UTC()
	zone, err := strconv.Atoi(p.Zone)
	if err != nil || zone == 0 || zone < -maxZone || zone > maxZone {
		return at
	}
	return at.In(time.FixedZone("", (zone/100*60+zone%100)*60))
}

const (
	// maxSeconds is the end of the year 9999, after which RFC 3339 has no dates.
	maxSeconds = 253402300799
	// maxZone is the largest number of four digits.
	maxZone = 9999
)

// Subject is the first paragraph of the message in one line, git's %s.
func (c Commit) Subject() string {
	subject, _ := message.CutSubject(message.SkipBlankLines(c.Message))
	return subject
}

// Summary is the first line of the message that is not blank, or the id in
// parentheses: the summary of git-blame(1), "The porcelain format".
func (c Commit) Summary() string {
	line, _, _ := strings.Cut(message.SkipBlankLines(c.Message), "\n")
	if line == "" {
		return "(" + c.ID.String() + ")"
	}
	return line
}

// ReadCommit reads one commit, with all parents that it names.
func ReadCommit(snapshot *repos.Snapshot, id repos.ID) (Commit, error) {
	raw, err := snapshot.RawCommit(id)
	if err != nil {
		return Commit{}, err
	}
	links, err := parseLinks(id, raw)
	return parseCommit(id, raw, links), err
}

// parseCommit reads a whole commit.
func parseCommit(id repos.ID, raw []byte, links links) Commit {
	c := Commit{ID: id, Tree: links.tree, Parents: links.parents, stored: len(raw)}
	text := readable(raw)
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		if line == "" {
			c.Message = text
			break
		}
		if who, ok := strings.CutPrefix(line, "author "); ok {
			c.Author = parsePerson(who)
		} else if who, ok := strings.CutPrefix(line, "committer "); ok {
			c.Committer = parsePerson(who)
		}
	}
	return c
}

// readable is a commit in UTF-8, up to the first NUL, as git shows it: the header
// "encoding" names what it was written in (git-commit(1), "Discussion").
func readable(raw []byte) string {
	text, _, _ := strings.Cut(string(raw), "\x00")
	header, _, _ := strings.Cut(text, "\n\n")
	for line := range strings.SplitSeq(header, "\n") {
		if name, ok := strings.CutPrefix(line, "encoding "); ok {
			if charset.Same(name, charset.UTF8) {
				return text
			}
			return charset.Decode(text, name)
		}
	}
	return text
}

// parsePerson divides "NAME <EMAIL> SECONDS ZONE" as git does: from both ends,
// since old histories have broken ones.
func parsePerson(line string) Person {
	name, rest, found := strings.Cut(line, "<")
	email, _, closed := strings.Cut(rest, ">")
	if !found || !closed {
		return Person{}
	}
	p := Person{Name: strings.TrimRight(name, message.Blanks), Email: email}
	when := strings.TrimLeft(line[strings.LastIndexByte(line, '>')+1:], message.Blanks)
	digits := leadingDigits(when)
	zone := strings.TrimLeft(when[digits:], message.Blanks)
	if digits == 0 || zone == "" || zone[0] != '+' && zone[0] != '-' {
		return p
	}
	if n := leadingDigits(zone[1:]); n > 0 {
		p.Seconds, p.Zone = parseUnsigned(when[:digits]), zone[:1+n]
	}
	return p
}

func leadingDigits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// parseUnsigned is C's strtoumax: a number that is too large is the largest.
func parseUnsigned(digits string) uint64 {
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil && digits != "" {
		return math.MaxUint64
	}
	return n
}

// links are what a walk needs of a commit.
type links struct {
	tree    repos.ID
	parents []repos.ID
	// date is the committer's, in seconds since 1970; one before wraps around
	// and is later than all others, as for git.
	date uint64
	// at is the position in the commit-graph plus one; 0 for what was read from
	// the commit.
	at uint32
}

const (
	idDigits   = 2 * len(repos.ID{})
	treeLine   = "tree "
	parentLine = "parent "
)

// parseLinks reads the tree and the parents, which a commit begins with, in lines
// of fixed lengths.
func parseLinks(id repos.ID, raw []byte) (l links, err error) {
	rest, tree, ok := cutID(raw, treeLine)
	if !ok || len(rest) == 0 {
		return links{}, damaged(id, "names no tree")
	}
	l.tree = tree
	for hasPrefix(rest, parentLine) && len(rest) > len(parentLine)+idDigits {
		var parent repos.ID
		if rest, parent, ok = cutID(rest, parentLine); !ok {
			return links{}, damaged(id, "names a parent that is no id")
		}
		l.parents = append(l.parents, parent)
	}
	l.date = parseDate(string(rest[:min(len(rest), maxDateBytes)]))
	return l, nil
}

// maxDateBytes is how far into the people of a commit its date is looked for:
// longer names are no names.
const maxDateBytes = 64 << 10

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

func cutID(raw []byte, key string) (rest []byte, id repos.ID, ok bool) {
	end := len(key) + idDigits
	if len(raw) <= end || !hasPrefix(raw, key) || raw[end] != '\n' {
		return raw, repos.ID{}, false
	}
	if _, err := hex.Decode(id[:], raw[len(key):end]); err != nil {
		return raw, repos.ID{}, false
	}
	return raw[end+1:], id, true
}

// parseDate reads the committer's date: the number after the ">", read as C does, when the people have their usual places.
func parseDate(people string) uint64 {
	author, rest, _ := strings.Cut(people, "\n")
	if !strings.HasPrefix(author, "author") || !strings.HasPrefix(rest, "committer") {
		return 0
	}
	_, when, found := strings.Cut(rest, ">")
	if !found || strings.IndexByte(when, '\n') < 0 {
		return 0
	}
	when = strings.TrimLeft(when, message.Blanks+"\v\f")
	digits := strings.TrimLeft(when, "+-")
	if len(when)-len(digits) > 1 {
		return 0
	}
	date := parseUnsigned(digits[:leadingDigits(digits)])
	if when != digits && when[0] == '-' {
		return -date
	}
	return date
}

// damaged says that a commit cannot be read.
func damaged(id repos.ID, what string) error {
	return fmt.Errorf("commit %s %s: %w", id, what, repos.ErrCorrupt)
}
