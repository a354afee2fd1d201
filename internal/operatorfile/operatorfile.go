// Package operatorfile reads small files that the operator changes while the server
// runs: keys, lists, rules.
package operatorfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// File is a file of the operator that is read again when it has changed. Several
// goroutines may use it. The zero value is no file.
type File struct {
	Path     string // "" for none
	Contents string // what is in it, for errors
	Limit    int64  // the most bytes that it may have

	mu   sync.Mutex // guards info and the order of reads
	info fs.FileInfo
}

// Read reads the file and has it parsed, if it is another one than was read before or
// always is set. It reports whether it was. A text that cannot be parsed does not count
// as read.
func (f *File) Read(always bool, parse func(text []byte) error) (bool, error) {
	if f.Path == "" {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	text, info, err := f.text(always)
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.Contents, err)
	}
	if text == nil {
		return false, nil
	}
	if err := parse(text); err != nil {
		return false, fmt.Errorf("%s in %s: %w", f.Contents, f.Path, err)
	}
	f.info = info
	return true, nil
}

// text reads the file. The text is nil when the file is the one that was read before,
// unless always is set.
func (f *File) text(always bool) (text []byte, info fs.FileInfo, err error) {
	file, err := os.Open(f.Path)
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
	text, err = io.ReadAll(io.LimitReader(file, f.Limit+1))
	if err == nil && int64(len(text)) > f.Limit {
		err = fmt.Errorf("%s has more than %d bytes", f.Path, f.Limit)
	}
	if text == nil {
		text = []byte{}
	}
	return text, info, err
}
