// Package dates parses the times that people and agents write: RFC 3339, days, months and years, and
// times that are relative to now.
package dates

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Period is what a text says: one moment, or all from First to Last, such as a day or a month.
type Period struct {
	First, Last time.Time
	// Relative reports that the moment depends on the time of the call.
	Relative bool
}

// Parse parses a time. Relative ones, such as "3 months ago" and "yesterday", are those of git
// (git-log(1), --since): so long before now, to the second. "2026-01-31", "31 May 2026", "May 2026",
// "2026-05" and "2026" are whole days, months and years. All are in UTC where no zone is given.
func Parse(text string, now time.Time) (p Period, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) > maxText {
		return p, false
	}
	for _, l := range layouts {
		if t, err := time.Parse(l.layout, text); err == nil {
			last := t.AddDate(l.years, l.months, l.days)
			if last != t {
				last = last.Add(-time.Second)
			}
			return Period{t, last, false}, true
		}
	}
	t, ok := relative(strings.ToLower(text), now.UTC())
	return Period{t, t, true}, ok
}

// maxText bounds the texts that can be a time.
const maxText = 100

// layouts are the forms of times, with the length of what they mean.
var layouts = []struct {
	layout              string
	years, months, days int
}{
	{time.RFC3339, 0, 0, 0}, {"2006-01-02T15:04:05", 0, 0, 0}, {"2006-01-02 15:04:05", 0, 0, 0},
	{"2006-01-02T15:04", 0, 0, 0}, {"2006-01-02 15:04", 0, 0, 0}, {"2006-01-02 15:04:05 -0700", 0, 0, 0},
	{time.DateOnly, 0, 0, 1}, {"2006/01/02", 0, 0, 1}, {"2 January 2006", 0, 0, 1}, {"2 Jan 2006", 0, 0, 1},
	{"January 2 2006", 0, 0, 1}, {"January 2, 2006", 0, 0, 1}, {"Jan 2 2006", 0, 0, 1}, {"Jan 2, 2006", 0, 0, 1},
	{"January 2006", 0, 1, 0}, {"Jan 2006", 0, 1, 0}, {"2006-01", 0, 1, 0}, {"2006", 1, 0, 0},
}

// spans match the parts of a relative time, such as "3 months" and "a week".
var spans = regexp.MustCompile(`^(\d{1,9}|an?|one|two|three|four|five|six|seven|eight|nine|ten|last)[ ._]*` +
	`(second|sec|minute|min|hour|day|week|month|year)s?(?:[ ._,]+|$)(?:and[ ._]+)?`)

// numbers are the words for small numbers.
var numbers = map[string]int{
	"a": 1, "an": 1, "last": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10,
}

// units are spans of constant length.
var units = map[string]time.Duration{
	"second": time.Second, "sec": time.Second, "minute": time.Minute, "min": time.Minute, "hour": time.Hour,
	"day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
}

// relative parses a time before now.
func relative(text string, now time.Time) (t time.Time, ok bool) {
	switch text {
	case "now":
		return now, true
	case "yesterday":
		return now.AddDate(0, 0, -1), true
	}
	t = now
	for text != "" {
		if text == "ago" {
			return t, ok
		}
		parts := spans.FindStringSubmatch(text)
		if parts == nil {
			return t, false
		}
		count, known := numbers[parts[1]]
		if !known {
			count, _ = strconv.Atoi(parts[1]) // at most nine digits
		}
		if t, ok = before(t, count, parts[2]); !ok {
			return t, false
		}
		text = text[len(parts[0]):]
	}
	return t, ok
}

// before returns a time so many units earlier. ok is false before the year 1.
func before(t time.Time, count int, unit string) (earlier time.Time, ok bool) {
	const maxYears = 10_000
	switch length, constant := units[unit]; {
	case constant && count <= int(math.MaxInt64/int64(length)):
		earlier = t.Add(-time.Duration(count) * length)
	case unit == "month" && count <= 12*maxYears:
		earlier = t.AddDate(0, -count, 0)
	case unit == "year" && count <= maxYears:
		earlier = t.AddDate(-count, 0, 0)
	default:
		return t, false
	}
	return earlier, earlier.Year() > 0
}
