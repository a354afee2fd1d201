package subst

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// date is a moment as date.c has it: seconds since 1970 without a sign, and a
// time zone that is the number its digits make, -130 for an hour and a half to
// the west.
type date struct {
	digits  string // the seconds as the commit has them
	seconds uint64
	zone    int32
	wall    time.Time // what the clock on the wall showed, as if it were UTC
	now     time.Time
}

// dateStyle is a way to write a date.
type dateStyle struct {
	show     func(d date) string
	early    bool // taken for a placeholder even where there is no date
	zoneless bool // the clock on the wall does not matter
}

// dateStyles are the placeholders of dates.
var dateStyles = map[byte]dateStyle{
	't': {show: func(d date) string { return d.digits }, early: true, zoneless: true},
	'd': {show: normalDate, early: true},
	'D': {show: mailDate, early: true},
	'r': {show: relativeDate, early: true, zoneless: true},
	'i': {show: isoDate, early: true},
	'I': {show: strictDate},
	's': {show: shortDate},
	'h': {show: humanDate},
}

// date reads a date and writes it: show_ident_date (pretty.c), show_date
// (date.c).
func (f *formatter) date(p person, style dateStyle) (string, error) {
	d := date{digits: p.seconds, now: f.now()}
	d.seconds, _ = parseUnsigned(p.seconds)
	if d.seconds > math.MaxInt64 {
		d.seconds = 0
	} else if zone, _ := parseSigned(p.zone); zone < math.MaxInt32 && zone > math.MinInt32 {
		d.zone = int32(zone)
	}
	if !style.zoneless {
		if err := d.shift(); err != nil {
			return "", err
		}
	}
	return style.show(d), nil
}

// lastGmtime is the last second that gmtime can show: the year does not fit in
// an int after it, and git shows 1970 then.
const lastGmtime = 67768036191676799

// shift finds what the clock on the wall showed: gm_time_t, time_to_tm. git
// gives up where that is before 1970.
func (d *date) shift() error {
	minutes := d.zone/100*60 + d.zone%100
	offset := int64(minutes * 60) // overflows as git's int does
	switch {
	case minutes > 0 && (offset < 0 || d.seconds+uint64(offset) > math.MaxInt64):
		return &FatalError{Reason: fmt.Sprintf("date %d %+05d is too large", d.seconds, d.zone)}
	case minutes <= 0 && d.seconds < uint64(-offset):
		return &FatalError{Reason: fmt.Sprintf("date %d %+05d is before 1970", d.seconds, d.zone)}
	}
	seconds := int64(d.seconds) + offset
	if seconds > lastGmtime {
		seconds, d.zone = 0, 0
	}
	d.wall = time.Unix(seconds, 0).UTC()
	return nil
}

// zoneText is printf's %+05d, which time's layouts have not.
func (d date) zoneText() string { return fmt.Sprintf("%+05d", d.zone) }

func (d date) clock() string {
	return fmt.Sprintf("%02d:%02d:%02d", d.wall.Hour(), d.wall.Minute(), d.wall.Second())
}

func (d date) dayAndMonth() string {
	return fmt.Sprintf("%s %d", d.wall.Month().String()[:3], d.wall.Day())
}

// year overflows in the last 1900 years of gmtime, as git's int does.
func (d date) year() int32 { return int32(d.wall.Year()) }

func (d date) weekday() string { return d.wall.Weekday().String()[:3] }

// hiddenZone is a zone that show_date_normal takes for the sign that there is
// none.
const hiddenZone = -1

// normalDate is DATE_NORMAL.
func normalDate(d date) string {
	s := fmt.Sprintf("%s %s %s %d", d.weekday(), d.dayAndMonth(), d.clock(), d.year())
	if d.zone == hiddenZone {
		return s
	}
	return s + " " + d.zoneText()
}

func mailDate(d date) string {
	return fmt.Sprintf("%s, %d %s %d %s %s", d.weekday(), d.wall.Day(), d.wall.Month().String()[:3],
		d.year(), d.clock(), d.zoneText())
}

func shortDate(d date) string {
	return fmt.Sprintf("%04d-%02d-%02d", d.year(), d.wall.Month(), d.wall.Day())
}

func isoDate(d date) string { return shortDate(d) + " " + d.clock() + " " + d.zoneText() }

func strictDate(d date) string {
	sign, zone := '+', d.zone
	if zone < 0 {
		sign, zone = '-', -zone
	}
	return fmt.Sprintf("%sT%s%c%02d:%02d", shortDate(d), d.clock(), sign, zone/100, zone%100)
}

// humanDate is DATE_HUMAN in a place whose time zone is UTC: show_date_normal
// leaves out what is plain from the present time.
func humanDate(d date) string {
	now := d.now.UTC()
	sameYear := d.wall.Year() == now.Year()
	sameMonth := sameYear && d.wall.Month() == now.Month()
	ago := now.Day() - d.wall.Day()
	switch {
	case sameMonth && ago == 0:
		return relativeDate(d)
	case !sameYear:
		return fmt.Sprintf("%s %d", d.dayAndMonth(), d.year())
	case sameMonth && ago > 0 && ago < 5:
		s := fmt.Sprintf("%s %s", d.weekday(), d.clock()[:5])
		if d.zone == 0 {
			return s
		}
		return s + " " + d.zoneText()
	default:
		return fmt.Sprintf("%s %s %s", d.weekday(), d.dayAndMonth(), d.clock()[:5])
	}
}

// ages are the units of relative dates: how many of the previous unit make one,
// what is added for rounding, and below how many the unit is used.
var ages = []struct {
	unit                string
	round, per, atLimit uint64
}{
	{"second", 0, 1, 90},
	{"minute", 30, 60, 90},
	{"hour", 30, 60, 36},
	{"day", 12, 24, 14},
}

// Bounds of the longer ages, in days.
const (
	weeksUntil   = 70
	monthsUntil  = 365
	mixtureUntil = 1825
)

// relativeDate is show_date_relative.
func relativeDate(d date) string {
	now := uint64(d.now.Unix())
	if now < d.seconds {
		return "in the future"
	}
	n := now - d.seconds
	for _, age := range ages {
		n = (n + age.round) / age.per
		if n < age.atLimit {
			return counted(n, age.unit) + " ago"
		}
	}
	switch {
	case n < weeksUntil:
		return counted((n+3)/7, "week") + " ago"
	case n < monthsUntil:
		return counted((n+15)/30, "month") + " ago"
	case n < mixtureUntil:
		return yearsAndMonths((n*12*2+365)/(365*2)) + " ago"
	default:
		return counted((n+183)/365, "year") + " ago"
	}
}

func yearsAndMonths(months uint64) string {
	parts := []string{counted(months/12, "year")}
	if months%12 > 0 {
		parts = append(parts, counted(months%12, "month"))
	}
	return strings.Join(parts, ", ")
}

func counted(n uint64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
