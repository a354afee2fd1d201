// Package livefile reads small files of the operator again when they have changed.
package livefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// MaxBytes bounds a file: some thousand lines.
const MaxBytes = 256 << 10

// File is a file that is read again when it has changed. Several goroutines may use it.
type File struct {
	Path     string // "" for none
	Contents string // for errors

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
	text, info, err := readSmall(f.Path, f.info, always)
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

// readSmall reads a file. The text is nil when the file is that of known,
// unless always is set.
func readSmall(path string, known fs.FileInfo, always bool) (text []byte, info fs.FileInfo, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if info, err = file.Stat(); err != nil {
		return nil, nil, err
	}
	if !always && known != nil && os.SameFile(info, known) && info.Size() == known.Size() &&
		info.ModTime().Equal(known.ModTime()) {
		return nil, info, nil
	}
	text, err = io.ReadAll(io.LimitReader(file, MaxBytes+1))
	if err == nil && len(text) > MaxBytes {
		err = fmt.Errorf("%s has more than %d bytes", path, MaxBytes)
	}
	if text == nil {
		text = []byte{}
	}
	return text, info, err
}
