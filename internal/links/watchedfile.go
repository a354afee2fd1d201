package links

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// maxFileBytes bounds the files of this package: a thousand lines.
const maxFileBytes = 256 << 10

// watchedFile is a file of the operator that is read again when it has changed.
type watchedFile struct {
	path     string // "" for none
	contents string // for errors

	mu   sync.Mutex // guards info and the order of reads
	info fs.FileInfo
}

// read reads the file and has it parsed, if it is another one than was read before or
// always is set. It reports whether it was. A text that cannot be parsed does not count
// as read.
func (f *watchedFile) read(always bool, parse func(text []byte) error) (bool, error) {
	if f.path == "" {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	text, info, err := readSmallFile(f.path, f.info, always)
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.contents, err)
	}
	if text == nil {
		return false, nil
	}
	if err := parse(text); err != nil {
		return false, fmt.Errorf("%s in %s: %w", f.contents, f.path, err)
	}
	f.info = info
	return true, nil
}

// readSmallFile reads a file. The text is nil when the file is that of known,
// unless always is set.
func readSmallFile(path string, known fs.FileInfo, always bool) (text []byte, info fs.FileInfo, err error) {
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
	text, err = io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFileBytes)
	}
	if text == nil {
		text = []byte{}
	}
	return text, info, err
}
