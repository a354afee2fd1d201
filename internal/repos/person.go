package repos

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/message"
)

// Person is who did something and when.
type Person struct {
	Name  string
	Email string
	// Seconds are counted from 1970; 0 where there is no date.
	Seconds uint64
	// Digits are the seconds as they are stored, such as 0012 or a number that is
	// too large for Seconds.
	Digits string
	// Zone is a sign and digits as they are stored, such as +0200; "" where there is
	// no date.
	Zone string
}

// ParsePerson divides "NAME <EMAIL> SECONDS ZONE". The address ends at the first
// ">", and the date begins after the last one, since old histories have broken
// lines. It is false for a line without an address.
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

// When is the moment and the zone. What time.Time cannot show is 1970.
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

// ParseSeconds reads the seconds at the beginning of a date. Blanks and a sign may
// come before the digits; what is no number is 0, one that is too large is the
// largest, and a minus wraps around.
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
