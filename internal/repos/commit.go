package repos

import (
	"bytes"
	"fmt"
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
	links, err := ParseCommitLinks(id, content)
	if err != nil {
		return Commit{}, err
	}
	if links.Tree.IsZero() {
		return Commit{}, damage(id, errNoTree)
	}
	text := cutCommitText(string(content))
	return Commit{
		ID: id, Tree: links.Tree, Parents: links.Parents, Date: links.Date, Message: text.Message,
		Author: parseSignature(text.Author), Committer: parseSignature(text.Committer),
	}, nil
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

// parseZone reads git's "+hhmm".
func parseZone(s string) *time.Location {
	n, err := strconv.Atoi(s)
	if err != nil || n == 0 || n < -maxZone || n > maxZone {
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
