// Package operatorfile reads small files that the operator changes while the server
// runs: keys, lists, rules.
package operatorfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

// File is a file of the operator, and what it said when it was read last. Several
// goroutines may use it. Nil is no file: it says nothing, and never changes.
type File[T any] struct {
	path     string // "" for none
	contents string
	limit    int64
	parse    func(text []byte) (T, error)
	value    atomic.Pointer[T]

	mu   sync.Mutex // guards info and the order of reads
	info fs.FileInfo
}

// Open reads a file of at most limit bytes. For errors, contents is what is in it.
func Open[T any](path, contents string, limit int64, parse func(text []byte) (T, error)) (*File[T], error) {
	f := &File[T]{path: path, contents: contents, limit: limit, parse: parse}
	if err := f.Reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// Fixed is what a file would say that never changes.
func Fixed[T any](value T) *File[T] {
	f := &File[T]{}
	f.value.Store(&value)
	return f
}

// Value returns what the file says; the zero value is nothing.
func (f *File[T]) Value() (value T) {
	if f == nil {
		return value
	}
	return *f.value.Load()
}

// Reload reads the file again. An error changes nothing of what it says.
func (f *File[T]) Reload() error {
	_, err := f.read(true)
	return err
}

// ReloadIfChanged is Reload when the file is another one than was read, by its
// identity, size or time of change. It reports whether it was read. A file that
// cannot be read or parsed is an error each time.
func (f *File[T]) ReloadIfChanged() (bool, error) { return f.read(false) }

func (f *File[T]) read(always bool) (bool, error) {
	if f == nil || f.path == "" {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	text, info, err := f.text(always)
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.contents, err)
	}
	if text == nil {
		return false, nil
	}
	value, err := f.parse(text)
	if err != nil {
		return false, fmt.Errorf("%s in %s: %w", f.contents, f.path, err)
	}
	f.info = info
	f.value.Store(&value)
	return true, nil
}

// text reads the file. The text is nil when the file is the one that was read before,
// unless always is set.
func (f *File[T]) text(always bool) (text []byte, info fs.FileInfo, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if info, err = file.Stat(); err != nil {
		return nil, nil, err
	}
	if known := f.info; !always && known != nil && os.SameFile(info, known) && info.Size() == known.Size() &&
		info.ModTime().Equal(known.ModTime()) {
		return nil, info, nil
	}
	text, err = io.ReadAll(io.LimitReader(file, f.limit+1))
	if err == nil && int64(len(text)) > f.limit {
		err = fmt.Errorf("%s has more than %d bytes", f.path, f.limit)
	}
	return text, info, err
}

// Lines returns the lines that say something, trimmed, with their numbers from 1: those
// that are empty or begin with # do not.
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
