package checkout

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/repomcp/repomcp/client/unpack"
)

type kind byte

// These are the kinds of files.
const (
	plainFile  kind = 'f'
	executable kind = 'x'
	link       kind = 'l'
	directory  kind = 'd'
	// nothing says that no run has written anything at the path.
	nothing kind = '-'
)

// flag is the meaning of a record.
type flag byte

const (
	// brought is a version that a run wrote, or found there.
	brought flag = '='
	// kept is the version of the commit, while the folder has the user's.
	kept flag = 'k'
	// accepted is the same, and the user wants it so.
	accepted flag = 'm'
	// postponed is the version of an earlier run: that of the commit comes later.
	postponed flag = 'p'
	// skipped is the same, for a link of the commit that leads outside.
	skipped flag = 's'
	// leaving is the version of an earlier run, at a path that the commit does not have: a program had it open, or
	// an editor held it back.
	leaving flag = 'r'
	// gone, in a journal, is a version that a run has removed.
	gone flag = '-'
	// previewed is a version that a dry run would have written.
	previewed flag = '?'
)

// record is a run's version of a path. Paths of folders end in a slash, so records have the order
// of an archive's members: that of the bytes of their paths.
type record struct {
	path  string
	kind  kind
	flag  flag
	id    unpack.ID
	size  int64
	mtime int64 // in nanoseconds since 1970; 0 if unknown
	// ctime is the system's time of the last change, in the same unit.
	ctime int64
	// aside, in a journal, is the name beside the path of a file that waits for the path, or that
	// had it; "" when that is over.
	aside string
}

// appendTo writes the record in its only form: flags, id, size, times and path, with blanks
// between, and a NUL, which no path contains.
func (r record) appendTo(b []byte) []byte {
	b = append(append(b, byte(r.flag), byte(r.kind)), r.aside...)
	b = hex.AppendEncode(append(b, ' '), r.id[:])
	b = strconv.AppendInt(append(b, ' '), r.size, 10)
	b = strconv.AppendInt(append(b, ' '), r.mtime, 10)
	if r.ctime != 0 {
		b = strconv.AppendInt(append(b, '/'), r.ctime, 10)
	}
	return append(append(append(b, ' '), r.path...), 0)
}

func parseRecord(text []byte) (r record, err error) {
	// There are as many records as files, so this allocates nothing but the path.
	flags, rest, _ := bytes.Cut(text, []byte{' '})
	id, rest, _ := bytes.Cut(rest, []byte{' '})
	size, rest, _ := bytes.Cut(rest, []byte{' '})
	times, path, ok := bytes.Cut(rest, []byte{' '})
	if !ok || len(flags) < 2 || len(id) != 2*len(r.id) {
		return r, fmt.Errorf("%w: %.40q", ErrState, text)
	}
	r.flag, r.kind, r.path = flag(flags[0]), kind(flags[1]), string(path)
	if len(flags) > 2 {
		r.aside = string(flags[2:])
	}
	_, idErr := hex.Decode(r.id[:], id)
	r.size, err = strconv.ParseInt(string(size), 10, 64)
	mtime, ctime, both := bytes.Cut(times, []byte{'/'})
	var mtimeErr, ctimeErr error
	r.mtime, mtimeErr = strconv.ParseInt(string(mtime), 10, 64)
	if both {
		r.ctime, ctimeErr = strconv.ParseInt(string(ctime), 10, 64)
	}
	if err := errors.Join(idErr, err, mtimeErr, ctimeErr); err != nil {
		return r, fmt.Errorf("%w: %w", ErrState, err)
	}
	return r, nil
}

// isPending reports whether a run examines the path even if it has no new version for it.
func (r record) isPending() bool {
	return r.flag == kept || r.flag == postponed || r.flag == leaving || r.flag == skipped
}

// isOurs reports whether the record is a version that a run wrote.
func (r record) isOurs() bool {
	return r.flag == brought || r.flag == postponed || r.flag == leaving || r.flag == skipped
}

// leave turns the record of a file that stays for now into one that a later run removes.
func (r record) leave() record {
	r.flag = leaving
	return r
}

func (r record) name() string { return strings.TrimSuffix(r.path, "/") }

func recordOf(w unpack.Written) record {
	r := record{path: w.Path, kind: plainFile, flag: brought, id: w.ID, size: w.Size}
	if w.Aside != "" {
		r.aside = path.Base(w.Aside)
	}
	if w.Info != nil {
		r.mtime = ownTime(w.Info.ModTime())
	}
	switch {
	case w.Kind == unpack.Nothing:
		r.flag = gone
	case w.Kind == unpack.Symlink:
		r.kind = link
	case w.Info != nil && isExecutable(w.Info.Mode()):
		r.kind = executable
	}
	return r
}

func kindOf(m unpack.Member) kind {
	switch {
	case m.Kind == unpack.Symlink:
		return link
	case m.Executable:
		return executable
	default:
		return plainFile
	}
}

func isExecutable(mode fs.FileMode) bool { return mode&0o100 != 0 }

// These are the resolutions of file systems' times. A change within them may be invisible.
const (
	exFATTime  = 10 * time.Millisecond
	fineTime   = 20 * time.Millisecond // the tick of a kernel's clock, and some more
	coarseTime = 2 * time.Second       // of file systems with whole seconds
)

// tick is how long a file may be changed and keep its time.
func tick(modified time.Time) time.Duration {
	if modified.Nanosecond() == 0 {
		return coarseTime
	}
	return fineTime
}

// lastingTime returns the time of a file in nanoseconds if every change after a moment gives the file another one,
// and 0 otherwise.
func lastingTime(modified, after time.Time) int64 {
	if after.Sub(modified) < tick(modified) {
		return 0
	}
	return modified.UnixNano()
}

// ownTime is [lastingTime] for a file that this program has just made. Package unpack gives it a time of which no other
// file has all digits, unless the file system drops them.
func ownTime(modified time.Time) int64 {
	if modified.Nanosecond()%int(exFATTime) != 0 {
		return modified.UnixNano()
	}
	return lastingTime(modified, time.Now())
}

// isRacy reports whether a file may have been changed after the state was written and still have
// the same time.
func (r record) isRacy(written int64) bool {
	return r.mtime == 0 || r.mtime > written-int64(tick(time.Unix(0, r.mtime)))
}

// records are those of a file, in the order of their paths.
type records interface {
	// next returns io.EOF at the end.
	next() (record, error)
}

// scanner reads the records of a file. It ignores a record that a killed process did not complete.
type scanner struct{ *bufio.Reader }

func newScanner(r io.Reader) scanner { return scanner{bufio.NewReaderSize(r, 64<<10)} }

func (s scanner) text() ([]byte, error) {
	text, err := s.ReadSlice(0)
	if errors.Is(err, bufio.ErrBufferFull) {
		text = bytes.Clone(text)
		var rest []byte
		rest, err = s.ReadBytes(0)
		text = append(text, rest...)
	}
	if err != nil {
		return nil, err
	}
	return text[:len(text)-1], nil
}

func (s scanner) next() (record, error) {
	text, err := s.text()
	if err != nil {
		return record{}, err
	}
	return parseRecord(text)
}

// nextFrom returns the next record whose path is not before another one. Those that it passes over are not parsed.
func (s scanner) nextFrom(path string) (record, error) {
	for {
		text, err := s.text()
		if err != nil {
			return record{}, err
		}
		if at, ok := pathIn(text); !ok || string(at) >= path {
			return parseRecord(text)
		}
	}
}

// pathIn returns the path of a record; ok is false if it has none.
func pathIn(text []byte) (path []byte, ok bool) {
	for range 4 { // flags, id, size and times
		if _, text, ok = bytes.Cut(text, []byte{' '}); !ok {
			return nil, false
		}
	}
	return text, true
}

type none struct{}

func (none) next() (record, error) { return record{}, io.EOF }

// merge calls each with both records of each path, in the order of the paths; nil for a missing
// record. A record is valid until each returns.
func merge(old, changes records, each func(old, change *record) error) error {
	o, oldErr := old.next()
	c, changeErr := changes.next()
	var pair [2]record // a state has many: none is allocated
	for oldErr == nil || changeErr == nil {
		var was, change *record
		order := strings.Compare(o.path, c.path)
		if oldErr == nil && (changeErr != nil || order <= 0) {
			was, pair[0] = &pair[0], o
			o, oldErr = old.next()
		}
		if changeErr == nil && (was == nil || order == 0) {
			change, pair[1] = &pair[1], c
			c, changeErr = changes.next()
		}
		if err := each(was, change); err != nil {
			return err
		}
	}
	for _, err := range []error{oldErr, changeErr} {
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}
