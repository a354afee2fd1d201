// Package mailmap parses the .mailmap of a repository and maps people to their proper names. The
// format is that of gitmailmap(5).
//
// [Read] reads the file from HEAD's commit, as git does in a bare repository (mailmap.blob in
// git-config(1)). [Map.Lookup] then replaces a name and an address. The nil *Map replaces nothing.
package mailmap

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/message"
)

const file = ".mailmap"

// Repository is the data that Read needs. [git.Snapshot] implements it.
type Repository interface {
	Head() (git.Ref, error)
	RawCommit(id git.ID) ([]byte, error)
	Lookup(tree git.ID, path string) (git.TreeEntry, error)
	ReadBlob(id git.ID, limit int64, buf []byte) ([]byte, error)
}

var _ Repository = (*git.Snapshot)(nil)

// Map maps people to their proper names. Addresses and names match in any case. It is immutable and
// safe for concurrent use.
type Map struct {
	byMail map[string]*mapping
	digest [sha256.Size]byte // of the file
}

// mapping is the replacement of an address. A nil name or address is not replaced, unlike one that
// is replaced by an empty string.
type mapping struct {
	name, mail *string
	byName     map[string]*mapping
}

// Read reads the .mailmap of HEAD. It returns an empty map without such a file, and
// [git.ErrTooLarge] if the file exceeds limit bytes.
func Read(r Repository, limit int64) (*Map, error) {
	content, err := read(r, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return Parse(string(content)), nil
}

// read returns nil if there is no mailmap.
func read(r Repository, limit int64) ([]byte, error) {
	head, err := r.Head()
	if errors.Is(err, git.ErrEmpty) || err == nil && head.Commit.IsZero() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	raw, err := r.RawCommit(head.Commit)
	if err != nil {
		return nil, err
	}
	links, err := git.ParseCommitLinks(head.Commit, raw)
	if err != nil {
		return nil, err
	}
	entry, err := r.Lookup(links.Tree, file)
	if git.IsAbsent(err) || err == nil && (entry.Mode.IsDir() || entry.Mode.IsGitlink()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.ReadBlob(entry.ID, limit, nil)
}

// Parse parses a mailmap, up to the first NUL. It ignores malformed lines; the last of several
// lines about the same person counts.
func Parse(content string) *Map {
	content, _, _ = strings.Cut(content, "\x00")
	m := &Map{byMail: make(map[string]*mapping), digest: sha256.Sum256([]byte(content))}
	for line := range strings.SplitSeq(content, "\n") {
		if !strings.HasPrefix(line, "#") {
			m.line(line)
		}
	}
	return m
}

// Digest identifies the content of the file; that of a nil Map is zero.
func (m *Map) Digest() (digest [sha256.Size]byte) {
	if m != nil {
		digest = m.digest
	}
	return digest
}

// line parses "name <mail>", the proper name of an address, or "name <mail> [name] <mail>", the
// replacement of the second pair.
func (m *Map) line(line string) {
	name, mail, rest, ok := cutPair(line, false)
	if !ok {
		return
	}
	oldName, oldMail, _, both := cutPair(rest, true)
	if !both {
		m.entry(mail).set(name, nil)
		return
	}
	if oldName == nil {
		m.entry(oldMail).set(name, &mail)
		return
	}
	entry := m.entry(oldMail)
	if entry.byName == nil {
		entry.byName = make(map[string]*mapping)
	}
	entry.byName[message.FoldCase(*oldName)] = &mapping{name: name, mail: &mail}
}

func (m *Map) entry(mail string) *mapping {
	key := message.FoldCase(mail)
	if m.byMail[key] == nil {
		m.byMail[key] = &mapping{}
	}
	return m.byMail[key]
}

// set merges into the mapping of earlier lines.
func (m *mapping) set(name, mail *string) {
	m.name, m.mail = cmp.Or(name, m.name), cmp.Or(mail, m.mail)
}

// cutPair parses an optional name, and an address in angle brackets.
func cutPair(s string, emptyMail bool) (name *string, mail, rest string, ok bool) {
	before, after, ok := strings.Cut(s, "<")
	if !ok {
		return nil, "", "", false
	}
	mail, rest, ok = strings.Cut(after, ">")
	if !ok || mail == "" && !emptyMail {
		return nil, "", "", false
	}
	if before = strings.Trim(before, message.Blanks); before != "" {
		name = &before
	}
	return name, mail, rest, true
}

// Lookup returns the proper name and address of a person. A line with both name and address takes
// precedence over one with the address only.
func (m *Map) Lookup(name, mail string) (properName, properMail string) {
	if m == nil {
		return name, mail
	}
	found := m.byMail[message.FoldCase(mail)]
	if found == nil {
		return name, mail
	}
	if named := found.byName[message.FoldCase(name)]; named != nil {
		found = named
	}
	return *cmp.Or(found.name, &name), *cmp.Or(found.mail, &mail)
}
