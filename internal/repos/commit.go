package repos

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxCommitBytes bounds a commit or tag object: git has no bound, but a
// message of megabytes is an attack.
const maxCommitBytes = 16 << 20

// Commit is the part of a commit object that is served.
type Commit struct {
	ID        ID
	Tree      ID
	Parents   []ID
	Author    Signature
	Committer Signature
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

// Signature is who did something and when.
type Signature struct {
	Name  string
	Email string
	When  time.Time
}

// parseCommit reads the format that git-commit-tree writes: header lines up to
// an empty line, then the message.
func parseCommit(id ID, content []byte) (Commit, error) {
	c := Commit{ID: id}
	for {
		line, rest, found := bytes.Cut(content, []byte("\n"))
		if !found {
			break
		}
		content = rest
		if len(line) == 0 {
			c.Message = string(content)
			break
		}
		if err := c.header(string(line)); err != nil {
			return Commit{}, damage(id, err)
		}
	}
	if c.Tree.IsZero() {
		return Commit{}, damage(id, fmt.Errorf("commit names no tree"))
	}
	return c, nil
}

func (c *Commit) header(line string) (err error) {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "tree":
		c.Tree, err = ParseID(value)
	case "parent":
		var parent ID
		parent, err = ParseID(value)
		c.Parents = append(c.Parents, parent)
	case "author":
		c.Author = parseSignature(value)
	case "committer":
		c.Committer = parseSignature(value)
		c.Date = parseDate(value)
	}
	return err
}

// parseSignature reads "NAME <EMAIL> SECONDS ZONE". Like git it takes
// what it can get: damaged signatures exist in old histories.
func parseSignature(s string) Signature {
	name, rest, _ := strings.Cut(s, "<")
	end := strings.LastIndexByte(rest, '>')
	if end < 0 {
		return Signature{Name: strings.TrimSpace(name), When: time.Unix(0, 0).UTC()}
	}
	seconds, zone, _ := strings.Cut(strings.TrimSpace(rest[end+1:]), " ")
	unix, _ := strconv.ParseInt(seconds, 10, 64)
	return Signature{
		Name: strings.TrimSpace(name), Email: rest[:end], When: time.Unix(unix, 0).In(parseZone(zone)),
	}
}

// parseDate reads the number after the address as C's strtoumax does, and so git:
// blanks and a sign may come before it,
// what is no number is 0, and a minus wraps around.
func parseDate(s string) uint64 {
	s = strings.TrimLeft(s[strings.LastIndexByte(s, '>')+1:], " \t\v\f\r")
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 {
		return 0
	}
	end := 0
	for end < len(digits) && digits[end] >= '0' && digits[end] <= '9' {
		end++
	}
	date, err := strconv.ParseUint(digits[:end], 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return math.MaxUint64
	case err != nil:
		return 0
	case s[0] == '-':
		return -date
	default:
		return date
	}
}

// parseZone reads git's "+hhmm".
func parseZone(s string) *time.Location {
	n, err := strconv.Atoi(s)
	if err != nil || n == 0 || n < -9999 || n > 9999 {
		return time.UTC
	}
	return time.FixedZone(s, (n/100*60+n%100)*60)
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
