package pretty

import (
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// personPart is the meaning of a letter after %a and %c.
type personPart struct {
	show   func(x *expansion, p git.Person) (string, error)
	drifts bool // see DependsOnRefs
	dated  bool // needs a date
	// blank means that the placeholder is empty if the commit lacks the part; otherwise it stays
	// unchanged.
	blank bool
}

var personParts = map[string]personPart{
	"n": {show: asStored(name), blank: true},
	"e": {show: asStored(email), blank: true},
	"l": {show: asStored(localPart)},
	"N": {show: byMailmap(name), drifts: true},
	"E": {show: byMailmap(email), drifts: true},
	"L": {show: byMailmap(localPart), drifts: true},

	"t": {show: timestamp, dated: true, blank: true},
	"r": {show: relative, drifts: true, dated: true, blank: true},
	"d": {show: inCommitZone(defaultDate), dated: true, blank: true},
	"D": {show: inCommitZone(mailDate), dated: true, blank: true},
	"i": {show: inCommitZone(isoDate), dated: true, blank: true},
	"I": {show: inCommitZone(strictDate), dated: true},
	"s": {show: inCommitZone(shortDate), dated: true},
	"h": {show: inCommitZone(humanDate), drifts: true, dated: true},
}

// person expands a part of the author or the committer.
func person(line func(*commit) string, part personPart) func(*expansion, *buffer, string) (string, bool) {
	return func(x *expansion, out *buffer, args string) (string, bool) {
		stored := line(x.known)
		x.spend(len(stored))
		p, ok := git.ParsePerson(stored)
		if !ok || part.dated && p.Zone == "" {
			return args, part.blank
		}
		text, err := part.show(x, p)
		if err != nil {
			x.fail(err)
			return "", false
		}
		out.add(text)
		return args, true
	}
}

func name(p git.Person) string  { return p.Name }
func email(p git.Person) string { return p.Email }

func localPart(p git.Person) string {
	local, _, _ := strings.Cut(p.Email, "@")
	return local
}

func asStored(part func(git.Person) string) func(*expansion, git.Person) (string, error) {
	return func(_ *expansion, p git.Person) (string, error) { return part(p), nil }
}

// byMailmap applies the .mailmap of HEAD: gitmailmap(5).
func byMailmap(part func(git.Person) string) func(*expansion, git.Person) (string, error) {
	return func(x *expansion, p git.Person) (string, error) {
		people, err := x.people()
		if err != nil {
			return "", err
		}
		p.Name, p.Email = people.Lookup(p.Name, p.Email)
		return part(p), nil
	}
}
