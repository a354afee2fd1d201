// Package mailmap reads the .mailmap of a repository and says what people are
// called by it. The format is that of gitmailmap(5).
//
// [Read] takes the file from the commit that HEAD leads to, as git does in a bare
// repository (mailmap.blob in git-config(1)). [Map.Lookup] then replaces a name and
// an address. The nil *Map replaces nothing.
package mailmap

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/message"
)

const file = ".mailmap"

// Repository is what is read of a repository. [git.Snapshot] implements it.
type Repository interface {
	Head() (git.Ref, error)
	RawCommit(id git.ID) ([]byte, error)
	Lookup(tree git.ID, path string) (git.TreeEntry, error)
	ReadBlob(id git.ID, limit int64, buf []byte) ([]byte, error)
}

var _ Repository = (*git.Snapshot)(nil)

// Map says what people are called. Addresses and names are found whatever their
// case is. It is not changed after it was read, so that any number of goroutines
// may use it.
type Map struct {
	byMail map[string]*mapping
}

// mapping is what an address stands for. An empty name or address is not
// replaced, which differs from an address that is replaced by nothing.
type mapping struct {
	name, mail *string
	byName     map[string]*mapping
}

// Read reads the .mailmap of HEAD, which is empty where there is none. One of more
// than limit bytes is [git.ErrTooLarge].
func Read(r Repository, limit int64) (*Map, error) {
	content, err := read(r, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return Parse(string(content)), nil
}

// read returns nothing when there is no mailmap.
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
	if errors.Is(err, git.ErrNotFound) && !errors.Is(err, git.ErrCorrupt) ||
		err == nil && (entry.Mode.IsDir() || entry.Mode.IsGitlink()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.ReadBlob(entry.ID, limit, nil)
}

// Parse reads a mailmap, up to the first NUL. Lines that say nothing are passed
// over, and of several about the same people the last counts.
func Parse(content string) *Map {
	content, _, _ = strings.Cut(content, "\x00")
	m := &Map{byMail: make(map[string]*mapping)}
	for line := range strings.SplitSeq(content, "\n") {
		if !strings.HasPrefix(line, "#") {
			m.line(line)
		}
	}
	return m
}

// line reads "name <mail>", which is the right name of an address, or "name
// <mail> [name] <mail>", which is what to put in place of the second pair.
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

// set adds to what earlier lines said.
func (m *mapping) set(name, mail *string) {
	m.name, m.mail = cmp.Or(name, m.name), cmp.Or(mail, m.mail)
}

// cutPair reads a name, which may be missing, and an address in angle brackets.
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

// Lookup returns the proper name and address of somebody. A line that names both is
// preferred to one that names the address alone.
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
