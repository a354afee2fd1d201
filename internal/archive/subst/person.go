package subst

import (
	"strings"

	"github.com/repomcp/repomcp/internal/mailmap"
)

// maxMailmap bounds the mailmap; that of Linux has 50 KiB.
const maxMailmap = 16 << 20

// person is a line that says who and when, divided as split_ident_line
// (ident.c) does: from both ends, since old histories have broken ones.
type person struct {
	name, mail string
	dated      bool
	seconds    string // digits only
	zone       string // a sign and digits
}

func splitPerson(line string) (p person, ok bool) {
	name, rest, found := strings.Cut(line, "<")
	if !found {
		return person{}, false
	}
	mail, _, found := strings.Cut(rest, ">")
	if !found {
		return person{}, false
	}
	p = person{name: strings.TrimRight(name, spaces), mail: mail}
	when := strings.TrimLeft(line[strings.LastIndexByte(line, '>')+1:], spaces)
	seconds := leadingDigits(when)
	zone := strings.TrimLeft(when[seconds:], spaces)
	if seconds == 0 || zone == "" || zone[0] != '+' && zone[0] != '-' {
		return p, true
	}
	digits := leadingDigits(zone[1:])
	if digits == 0 {
		return p, true
	}
	p.dated, p.seconds, p.zone = true, when[:seconds], zone[:1+digits]
	return p, true
}

func leadingDigits(s string) int {
	n := 0
	for isDigit(at(s, n)) {
		n++
	}
	return n
}

// person expands %a and %c with the given letter: format_person_part.
func (f *formatter) person(out *buffer, line string, part byte) int {
	const taken = 2
	f.spend(len(line))
	p, ok := splitPerson(line)
	if ok && strings.IndexByte("neLNEl", part) >= 0 && part != 0 {
		f.identity(out, p, part)
		return taken
	}
	style, known := dateStyles[part]
	if !ok || !p.dated || !known {
		if part == 'n' || part == 'e' || known && style.early {
			return taken
		}
		return 0
	}
	date, err := f.date(p, style)
	if err != nil {
		f.fail(err)
		return 0
	}
	out.add(date)
	return taken
}

// identity writes a name, an address or what is before its "@"; capitals go
// through the mailmap.
func (f *formatter) identity(out *buffer, p person, part byte) {
	if part < 'a' {
		people, err := f.mailmap()
		if err != nil {
			f.fail(err)
			return
		}
		p.name, p.mail = people.Lookup(p.name, p.mail)
	}
	switch part | 0x20 {
	case 'n':
		out.add(p.name)
	case 'e':
		out.add(p.mail)
	case 'l':
		local, _, _ := strings.Cut(p.mail, "@")
		out.add(local)
	}
}

// mailmap reads the .mailmap of HEAD, once for the archive.
func (e *Expander) mailmap() (*mailmap.Map, error) {
	if e.people == nil {
		people, err := mailmap.Read(&e.source, maxMailmap)
		if err != nil {
			return nil, err
		}
		e.people = people
	}
	return e.people, nil
}
