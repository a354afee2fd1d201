package index

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// storage keeps segments.
type storage interface {
	// create keeps the segment that write writes, under the name that write returns.
	create(write func(to io.Writer) (name string, err error)) (opened, error)
	remove(name string)
	close() error
}

// memory keeps segments in memory.
type memory struct{}

func (memory) create(write func(to io.Writer) (string, error)) (opened, error) {
	var b bytes.Buffer
	name, err := write(&b)
	if err != nil {
		return opened{}, err
	}
	content := bytes.Clone(b.Bytes()) // without the room that the buffer has left
	s, documents, err := openSegment(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return opened{}, err
	}
	s.name = name
	return opened{s, documents}, nil
}

func (memory) remove(string) {}
func (memory) close() error  { return nil }

const (
	segmentSuffix = ".segment"
	draftSuffix   = ".draft"
	// draftAge is the age of a file that was not finished, because its process ended.
	draftAge = time.Hour
)

// folder keeps segments in files. Several processes may use it: a segment is written under another name and
// renamed to its digest, and a file that vanishes stays readable to those that have it open.
type folder struct{ root *os.Root }

func openFolder(dir string) (*folder, error) {
	// The folder has words of private repositories.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folder{root}, nil
}

func (f *folder) close() error { return f.root.Close() }

func (f *folder) create(write func(to io.Writer) (string, error)) (_ opened, err error) {
	draft := rand.Text() + draftSuffix
	file, err := f.root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return opened{}, err
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	name, err := write(buffered)
	if err = errors.Join(err, buffered.Flush(), file.Sync(), file.Close()); err == nil {
		err = f.root.Rename(draft, name+segmentSuffix)
	}
	if err != nil {
		return opened{}, errors.Join(err, f.root.Remove(draft))
	}
	return f.open(name)
}

// open opens a segment by its name.
func (f *folder) open(name string) (opened, error) {
	file, err := f.root.Open(name + segmentSuffix)
	if err != nil {
		return opened{}, err
	}
	info, err := file.Stat()
	if err != nil {
		return opened{}, errors.Join(err, file.Close())
	}
	s, documents, err := openSegment(file, info.Size())
	if err != nil {
		return opened{}, errors.Join(err, file.Close())
	}
	s.name, s.close = name, file.Close
	return opened{s, documents}, nil
}

func (f *folder) remove(name string) { _ = f.root.Remove(name + segmentSuffix) } // another process may have

// list returns the names of all segments, the oldest first, and removes what other processes left unfinished.
func (f *folder) list() ([]string, error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var found []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil: // it vanished
		case strings.HasSuffix(e.Name(), draftSuffix) && time.Since(info.ModTime()) > draftAge:
			_ = f.root.Remove(e.Name())
		case strings.HasSuffix(e.Name(), segmentSuffix):
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	names := make([]string, len(found))
	for i := range found {
		names[i] = strings.TrimSuffix(found[i].Name(), segmentSuffix)
	}
	return names, nil
}

// load opens the segments of a folder. The oldest ones, whose documents have no room, are removed.
func (x *Index) load(f *folder) {
	names, err := f.list()
	if err != nil {
		x.options.Logger.Error("the folder of the search index cannot be listed", "error", err)
	}
	var all []opened
	for _, name := range names {
		o, err := f.open(name)
		if errors.Is(err, errDamaged) {
			x.options.Logger.Warn("a segment of the search index is damaged and is built again", "segment", name)
			f.remove(name)
		}
		switch {
		case err != nil:
		case o.version != x.version: // that of another version of the program
			_ = o.close()
		default:
			all = append(all, o)
		}
	}
	documents := 0
	for i, o := range slices.Backward(all) {
		if documents += len(o.documents); documents > x.room {
			for _, old := range all[:i+1] {
				_ = old.close() // it was only read
				f.remove(old.name)
			}
			all = all[i+1:]
			break
		}
	}
	x.replace(false, nil, all...)
}

// add keeps a segment that write writes.
func (x *Index) add(gone []*segment, write func(to io.Writer) (string, error)) (*segment, error) {
	o, err := x.storage.create(write)
	if err != nil {
		return nil, fmt.Errorf("writing a segment of the search index: %w", err)
	}
	x.replace(false, gone, o)
	x.discard(slices.DeleteFunc(gone, func(s *segment) bool { return s.name == o.name }))
	return o.segment, nil
}
