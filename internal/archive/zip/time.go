package zip

import "time"

// dosTime is a time in the format of MS-DOS (APPNOTE 4.4.6): seconds halved, years since 1980 in
// seven bits. As in git's archives, overflow keeps the low bits, so that 1970 becomes 2098. Readers
// prefer the Unix time of the extra field.
func dosTime(unix int64) (date, clock uint16) {
	t := time.Unix(unix, 0).UTC()
	d := t.Day() + int(t.Month())<<5 + (t.Year()-1980)<<9
	c := t.Second()/2 + t.Minute()<<5 + t.Hour()<<11
	return uint16(d), uint16(c)
}
