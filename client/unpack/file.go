package unpack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/repomcp/repomcp/internal/base/swap"
)

type file struct {
	folder     *folder
	path       string
	executable bool
	yields     Yields
	modTime    time.Time // before 1970, such as zero: now
	size       int64
	id         ID // zero: any
}

// addFile passes small files to the workers and writes large ones.
func (r *run) addFile(m Member, f *folder, choice Choice, content io.Reader) error {
	if c, ok := choice.Content.(io.Closer); ok {
		defer func() { _ = c.Close() }() // it was only read
	}
	if err := r.folders.openFor(f, choice); err != nil {
		return err
	}
	file := file{
		folder: f, path: m.Path, executable: m.Executable, yields: choice.Yields, size: m.Size, id: choice.ID,
	}
	if r.options.Times {
		file.modTime = m.ModTime
	}
	small := m.Size <= smallFile
	if choice.Content != nil {
		// Content in memory goes to the workers, if its length is the announced one.
		whole, ok := choice.Content.(*bytes.Reader)
		content, file.size = choice.Content, choice.Size
		small = ok && whole.Len() == int(file.size) && file.size <= smallFile
	}
	if small {
		return r.small.add(file, content)
	}
	return r.flow(file, content)
}

func (r *run) flow(file file, content io.Reader) error {
	if file.size > r.options.Limits.FileBytes {
		return &LimitError{Limit: "bytes of a file", Path: file.path, Most: r.options.Limits.FileBytes}
	}
	if err := r.hasRoom(file.size, strconv.Quote(file.path)); err != nil {
		return err
	}
	if r.buffer == nil {
		r.buffer = make([]byte, smallFile)
	}
	return r.write(file, func(w io.Writer) (int64, error) {
		// One byte more than announced proves that the content is too long.
		return io.CopyBuffer(w, io.LimitReader(content, file.size+1), r.buffer)
	})
}

// write makes a file under a temporary name beside its own, and renames it when it is complete.
func (r *run) write(file file, fill func(io.Writer) (int64, error)) error {
	temporary, root := r.nameAside(path.Base(file.path)), file.folder.root
	perm := fs.FileMode(0o666)
	if file.executable {
		perm = 0o777
	}
	out, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unpolled, perm)
	if err != nil {
		return atPath(file.path, withReason(root, file.path, err))
	}
	size, id, err := r.fill(out, file.size, fill)
	err = errors.Join(err, out.Close())
	w := Written{Path: file.path, Size: size, ID: id}
	if err == nil && file.id != (ID{}) && w.ID != file.id {
		err = ErrContent
	}
	if file.yields != nil && file.modTime.IsZero() {
		// This program's clock is finer than that of most file systems, so no later change of the
		// file can have the same time.
		file.modTime = time.Now()
	}
	if sec := file.modTime.Unix(); err == nil && sec >= 0 && sec < 1<<33 {
		err = root.Chtimes(temporary, file.modTime, file.modTime)
	}
	info, other := root.Lstat(temporary) // not all file systems keep the whole time
	err = errors.Join(err, other)
	return r.complete(file.folder, temporary, info, w, file.yields, err)
}

// fill writes a content of a size, to the second place as well, and returns its id.
func (r *run) fill(out io.Writer, size int64, fill func(io.Writer) (int64, error)) (int64, ID, error) {
	sum := NewHash(size)
	writers := []io.Writer{out, sum}
	var second Copy
	if r.options.Copy != nil {
		second = r.options.Copy(size)
		writers = append(writers, second)
	}
	n, err := fill(io.MultiWriter(writers...))
	id := ID(sum.Sum(nil))
	if err == nil && n != size {
		err = ErrContent
	}
	switch {
	case second == nil:
	case err != nil:
		err = errors.Join(err, second.End(ID{}))
	default:
		err = second.End(id)
	}
	return n, id, err
}

// complete gives a temporary file its name, unless writing it failed.
func (r *run) complete(
	f *folder, temporary string, info fs.FileInfo, w Written, yields Yields, err error,
) error {
	if err == nil {
		w.Info = info
		if yields != nil {
			w.Aside = f.child(temporary)
		}
		err = r.ready(w)
	}
	if err != nil {
		return atPath(w.Path, errors.Join(err, r.marker.discard(f.root, temporary)))
	}
	name := path.Base(w.Path)
	if yields == nil {
		if err := putInPlace(f.root, temporary, name, w.Path); err != nil {
			err = withReason(f.root, w.Path, err)
			return atPath(w.Path, errors.Join(err, r.marker.discard(f.root, temporary)))
		}
		return r.made(w)
	}
	stay, err := (&spot{f, name, temporary, yields}).put(info)
	switch {
	case err != nil:
		err = withReason(f.root, w.Path, err)
		if left, other := f.root.Lstat(temporary); other == nil && swap.IsSame(info, left) {
			err = errors.Join(err, r.marker.discard(f.root, temporary))
		}
		return atPath(w.Path, err)
	case stay != nil:
		stay.Written = w
		return r.stays(*stay)
	default:
		return r.made(w)
	}
}

// atPath adds the path to an error of the file system. The error's own path is a temporary name,
// which means nothing to a user.
func atPath(path string, err error) error {
	if _, ok := errors.AsType[*RefusedError](err); ok {
		return err
	}
	return fmt.Errorf("unpack: %q: %w", path, withoutName(err))
}

// withoutName drops the file name from errors of the file system.
func withoutName(err error) error {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var all error
		for _, one := range several.Unwrap() {
			all = errors.Join(all, withoutName(one))
		}
		return all
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}

// nameAside returns the temporary name of a file or a link.
func (r *run) nameAside(name string) string {
	if r.options.Unseen {
		return name
	}
	return r.temporaryName()
}

// putInPlace renames a temporary file over a file or a link.
func putInPlace(root *os.Root, temporary, name, path string) error {
	if temporary == name {
		return nil
	}
	err := root.Rename(temporary, name)
	if err == nil {
		return nil
	}
	if info, other := root.Lstat(name); other != nil || !info.IsDir() {
		return err
	}
	return refuse(InTheWay, path)
}
