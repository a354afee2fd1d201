package pretty

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/repomcp/repomcp/internal/git"
)

// date is local time as if it were UTC, with the time zone as the number that its digits make: -130
// for an hour and a half to the west.
type date struct {
	time.Time
	seconds uint64 // since 1970, in UTC
	zone    int64
	now     time.Time
}

// latestSecond is the last second whose year git can show. It shows 1970 instead of later ones.
const latestSecond = 67768036191676799

// inCommitZone shows the date in the time zone of the commit. For dates before 1970 there, git
// fails.
func inCommitZone(layout func(date) string) func(*expansion, git.Person) (string, error) {
	return func(x *expansion, p git.Person) (string, error) {
		d := date{seconds: secondsOf(p), zone: zoneOf(p), now: x.now().UTC()}
		offset := (d.zone/100*60 + d.zone%100) * 60
		switch {
		case offset > 0 && d.seconds > math.MaxInt64-uint64(offset):
			return "", &FatalError{Reason: fmt.Sprintf("date %d %s is too large", d.seconds, d.numericZone())}
		case offset < 0 && d.seconds < uint64(-offset):
			return "", &FatalError{Reason: fmt.Sprintf("date %d %s is before 1970", d.seconds, d.numericZone())}
		}
		clock := int64(d.seconds) + offset
		if clock > latestSecond {
			clock, d.zone = 0, 0
		}
		d.Time = time.Unix(clock, 0).UTC()
		return layout(d), nil
	}
}

// secondsOf returns 0 for a date that is too large for git.
func secondsOf(p git.Person) uint64 {
	if p.Seconds > math.MaxInt64 {
		return 0
	}
	return p.Seconds
}

// zoneOf returns 0 if the date or the zone is too large.
func zoneOf(p git.Person) int64 {
	zone, err := strconv.ParseInt(p.Zone, 10, 32)
	if err != nil || zone == math.MaxInt32 || zone == math.MinInt32 || p.Seconds > math.MaxInt64 {
		return 0
	}
	return zone
}

// year has 32 bits, as in git.
func (d date) year() int32 { return int32(d.Year()) }

// numericZone does not use the layouts of package time, which do not support zones of a hundred
// hours.
func (d date) numericZone() string { return fmt.Sprintf("%+05d", d.zone) }

func timestamp(_ *expansion, p git.Person) (string, error) { return p.Digits, nil }

// hiddenZone marks a zone that git omits from its default format.
const hiddenZone = -1

func defaultDate(d date) string {
	s := d.Format("Mon Jan 2 15:04:05 ") + fmt.Sprint(d.year())
	if d.zone == hiddenZone {
		return s
	}
	return s + " " + d.numericZone()
}

func mailDate(d date) string {
	return d.Format("Mon, 2 Jan ") + fmt.Sprint(d.year()) + d.Format(" 15:04:05 ") + d.numericZone()
}

func shortDate(d date) string { return fmt.Sprintf("%04d", d.year()) + d.Format("-01-02") }

func isoDate(d date) string { return shortDate(d) + d.Format(" 15:04:05 ") + d.numericZone() }

func strictDate(d date) string {
	sign, zone := '+', d.zone
	if zone < 0 {
		sign, zone = '-', -zone
	}
	return shortDate(d) + d.Format("T15:04:05") + fmt.Sprintf("%c%02d:%02d", sign, zone/100, zone%100)
}

// humanDate omits what is clear from the present time, for a reader in UTC.
func humanDate(d date) string {
	ago := d.now.Day() - d.Day()
	switch sameMonth := d.Year() == d.now.Year() && d.Month() == d.now.Month(); {
	case sameMonth && ago == 0:
		return age(d.seconds, d.now)
	case d.Year() != d.now.Year():
		return d.Format("Jan 2 ") + fmt.Sprint(d.year())
	case sameMonth && ago > 0 && ago < 5:
		s := d.Format("Mon 15:04")
		if d.zone != 0 {
			s += " " + d.numericZone()
		}
		return s
	default:
		return d.Format("Mon Jan 2 15:04")
	}
}

func relative(x *expansion, p git.Person) (string, error) { return age(secondsOf(p), x.now()), nil }

// ages are the units of relative dates: the rounding, the number of previous units in one, and the
// number below which the unit is used.
var ages = []struct {
	unit              string
	round, per, until uint64
}{
	{"second", 0, 1, 90},
	{"minute", 30, 60, 90},
	{"hour", 30, 60, 36},
	{"day", 12, 24, 14},
}

// Bounds of the longer ages, in days.
const (
	weeksUntil          = 70
	monthsUntil         = 365
	yearsAndMonthsUntil = 1825
)

// age returns the time since a moment, rounded to one unit, or to years and months.
func age(seconds uint64, now time.Time) string {
	n := uint64(now.Unix())
	if n < seconds {
		return "in the future"
	}
	n -= seconds
	for _, age := range ages {
		if n = (n + age.round) / age.per; n < age.until {
			return countUnits(n, age.unit) + " ago"
		}
	}
	switch {
	case n < weeksUntil:
		return countUnits((n+3)/7, "week") + " ago"
	case n < monthsUntil:
		return countUnits((n+15)/30, "month") + " ago"
	case n >= yearsAndMonthsUntil:
		return countUnits((n+183)/365, "year") + " ago"
	}
	months := (n*12*2 + 365) / (365 * 2)
	text := countUnits(months/12, "year")
	if months%12 > 0 {
		text += ", " + countUnits(months%12, "month")
	}
	return text + " ago"
}

func countUnits(n uint64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
