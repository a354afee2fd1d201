// Package operatorfile follows small files that the operator changes while the server runs: keys,
// lists, rules.
//
//	held, err := operatorfile.Open(path, "access rules", maxBytes, parse)
//	changed, err := held.Look() // every second or so
//	held.Reread()               // the next looks read the file even if it seems unchanged
//
// # Promises
//
// An unfinished file grants nothing: a file is accepted once it has been unchanged for [Settling],
// ends with a complete line and is not empty. Until then, and while the file is unreadable or
// invalid, the previous content stays in force. Each refused state of a file is reported once.
//
// # Limits
//
// A writer that pauses for longer than that at the end of a line looks like one that has finished.
// Only a file that is replaced by another one, as by mv, is never seen in part.
package operatorfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Settling is how long a file must be unchanged: longer than a writer pauses between two
	// pieces.
	Settling = time.Second
	// patience is how long a file may keep changing before that is reported.
	patience = 10 * Settling
)

// File is a file of the operator with its last accepted content. It is safe for concurrent use. Nil
// means no file: it has no content, and never changes.
type File[T any] struct {
	path     string // "" for none
	contents string
	limit    int64
	parse    func(text []byte) (T, error)
	value    atomic.Pointer[T]

	mu       sync.Mutex
	judged   version   // last accepted or refused; zero: none
	seen     sight     // of a version not yet judged
	changing time.Time // start of continuous changes
	fault    error     // why the file differs from Value; nil: it does not
	told     bool      // fault was reported
}

// version identifies the state of a file without reading it.
type version struct {
	info    fs.FileInfo // nil: no file
	changed time.Time   // time of the last change; unlike the time in info, it cannot be set
}

func (v version) is(other version) bool {
	return v.info != nil && other.info != nil && os.SameFile(v.info, other.info) &&
		v.info.Size() == other.info.Size() && v.info.ModTime().Equal(other.info.ModTime()) &&
		v.changed.Equal(other.changed)
}

// sight is the content of a version, and the time from which it is known.
type sight struct {
	version
	text  []byte
	since time.Time
}

// Open reads a file of at most limit bytes. contents names its content in errors. If the file was
// changed recently, Open waits until it has settled.
func Open[T any](path, contents string, limit int64, parse func(text []byte) (T, error)) (*File[T], error) {
	f := &File[T]{path: path, contents: contents, limit: limit, parse: parse}
	if _, err := f.Look(); err != nil {
		return nil, err
	}
	// An old file has settled, provided that the clocks of the file system and this machine agree.
	if changed := f.seen.changed; changed.Before(f.seen.since) {
		f.seen.since = changed
	}
	for taken := false; !taken; {
		time.Sleep(Settling - time.Since(f.seen.since))
		var err error
		if taken, err = f.Look(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Fixed returns a File that never changes.
func Fixed[T any](value T) *File[T] {
	f := &File[T]{}
	f.value.Store(&value)
	return f
}

// Value returns the content of the file, by default the zero value.
func (f *File[T]) Value() (value T) {
	if f == nil {
		return value
	}
	return *f.value.Load()
}

// Fault returns why the current file is refused, so that its previous content is in force; nil if
// it is not.
func (f *File[T]) Fault() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// Reread makes the next looks read the file even if it seems unchanged, and report it again if it
// is refused.
func (f *File[T]) Reread() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.judged, f.told = version{}, false
}

// Look checks whether the file has changed, and accepts or refuses it once it has settled. It
// reports whether it accepted a new version. An error tells why the file is refused; it does not
// affect Value, and is returned once.
func (f *File[T]) Look() (taken bool, err error) {
	if f == nil || f.path == "" {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.read()
	switch {
	case err != nil:
		f.seen = sight{}
		return false, f.refuse(version{}, fmt.Errorf("%s: %w", f.contents, err))
	case now.is(f.judged):
		f.seen = sight{}
		return false, nil
	case !now.is(f.seen.version) || !bytes.Equal(now.text, f.seen.text):
		return false, f.wait(now)
	case time.Since(f.seen.since) < Settling:
		return false, nil
	}
	f.seen = sight{}
	value, err := f.parse(now.text)
	if err == nil {
		err = CheckEnd(now.text)
	}
	if err != nil {
		f.told = false
		return false, f.refuse(now.version, fmt.Errorf("%s in %s: %w", f.contents, f.path, err))
	}
	f.value.Store(&value)
	f.judged, f.fault = now.version, nil
	return true, nil
}

// wait starts waiting for a version to settle.
func (f *File[T]) wait(now sight) error {
	if f.seen.info == nil {
		f.changing = now.since
	}
	f.seen = now
	if now.since.Sub(f.changing) < patience {
		return nil
	}
	return f.refuse(version{}, fmt.Errorf("%s: %s has been changing for %v and more; replace it with mv, once",
		f.contents, f.path, patience))
}

// refuse keeps the previous content, and returns why unless that was reported before.
func (f *File[T]) refuse(v version, why error) error {
	told := f.told && f.fault != nil && f.fault.Error() == why.Error()
	f.judged, f.fault, f.told = v, why, true
	if told {
		return nil
	}
	return why
}

// read reads the file, unless its version was judged already.
func (f *File[T]) read() (now sight, err error) {
	if info, err := os.Stat(f.path); err != nil {
		return now, err
	} else if !info.Mode().IsRegular() {
		// Reading a pipe would block.
		return now, fmt.Errorf("%s is no file that can be read twice", f.path)
	}
	file, err := os.Open(f.path)
	if err != nil {
		return now, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if now.info, err = file.Stat(); err != nil {
		return now, err
	}
	now.changed, now.since = changed(now.info, file), time.Now()
	if now.is(f.judged) {
		return now, nil
	}
	now.text, err = io.ReadAll(io.LimitReader(file, f.limit+1))
	if err == nil && int64(len(now.text)) > f.limit {
		err = fmt.Errorf("%s has more than %d bytes", f.path, f.limit)
	}
	return now, err
}

// CheckEnd refuses a text that may be unfinished.
func CheckEnd(text []byte) error {
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return errors.New("the file is empty; where it is to say nothing, write a line that begins with #")
	case text[len(text)-1] != '\n':
		return errors.New("the last line has no end, as if the rest was still to come; end it with a newline")
	default:
		return nil
	}
}

// Lines yields the trimmed lines with their numbers from 1, without empty lines and those that
// begin with #.
func Lines(text []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && !yield(number, line) {
				return
			}
		}
	}
}
