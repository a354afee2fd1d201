package subst

import (
	"errors"
	"strings"

	"github.com/repomcp/repomcp/internal/repos"
)

const (
	mailmapPath = ".mailmap"
	// maxMailmap bounds the mailmap; that of Linux has 50 KiB.
	maxMailmap = 16 << 20
)

// mailmap is gitmailmap(5): what people are called. Addresses and names are
// found whatever their case is.
type mailmap struct {
	byMail map[string]*mapping
}

// mapping is what an address stands for. An empty name or address is not
// replaced, which differs from an address that is replaced by nothing.
type mapping struct {
	name, mail *string
	byName     map[string]*mapping
}

// mailmap reads the .mailmap of HEAD, as git does in a bare repository, once
// for the archive.
func (e *Expander) mailmap() (*mailmap, error) {
	if e.people != nil {
		return e.people, nil
	}
	content, err := e.readMailmap()
	if err != nil {
		return nil, err
	}
	e.people = parseMailmap(untilNUL(string(content)))
	return e.people, nil
}

// readMailmap gives nothing when there is no mailmap.
func (e *Expander) readMailmap() ([]byte, error) {
	head, err := e.source.Head()
	if errors.Is(err, repos.ErrEmpty) || err == nil && head.Commit.IsZero() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	commit, err := e.source.commit(head.Commit)
	if err != nil {
		return nil, err
	}
	entry, err := e.source.Lookup(commit.tree, mailmapPath)
	if errors.Is(err, repos.ErrNotFound) || err == nil && (entry.Mode.IsDir() || entry.Mode.IsGitlink()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return e.source.ReadBlob(entry.ID, maxMailmap, nil)
}

func parseMailmap(content string) *mailmap {
	m := &mailmap{byMail: make(map[string]*mapping)}
	for line := range strings.SplitSeq(content, "\n") {
		if !strings.HasPrefix(line, "#") {
			m.line(line)
		}
	}
	return m
}

// line reads "name <mail>", which is the right name of an address, or "name
// <mail> [name] <mail>", which is what to put in place of the second pair.
func (m *mailmap) line(line string) {
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
	entry.byName[foldCase(*oldName)] = &mapping{name: name, mail: &mail}
}

func (m *mailmap) entry(mail string) *mapping {
	key := foldCase(mail)
	if m.byMail[key] == nil {
		m.byMail[key] = &mapping{}
	}
	return m.byMail[key]
}

// set adds to what earlier lines said.
func (m *mapping) set(name, mail *string) {
	if name != nil {
		m.name = name
	}
	if mail != nil {
		m.mail = mail
	}
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
	if before = strings.Trim(before, spaces); before != "" {
		name = &before
	}
	return name, mail, rest, true
}

// lookup is map_user (mailmap.c).
func (m *mailmap) lookup(name, mail string) (string, string) {
	found := m.byMail[foldCase(mail)]
	if found == nil {
		return name, mail
	}
	if named := found.byName[foldCase(name)]; named != nil {
		found = named
	}
	if found.mail != nil {
		mail = *found.mail
	}
	if found.name != nil {
		name = *found.name
	}
	return name, mail
}

// foldCase is what strcasecmp compares in the C locale: ASCII letters only.
func foldCase(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}
