package checkout

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/repomcp/repomcp/client/unpack"
)

// choose decides about a member of the archive, in the order of the archive. What is
// to be written of a patch is made here.
func (r *run) choose(m unpack.Member, content io.Reader) (unpack.Choice, error) {
	choice, err := r.decide(m, content)
	if err != nil || choice.Skip || m.Patch == nil {
		return choice, err
	}
	choice.Content, err = r.patched(m, content)
	choice.Size, choice.ID = m.Patch.Size, m.Patch.ID
	return choice, err
}

func (r *run) decide(m unpack.Member, content io.Reader) (unpack.Choice, error) {
	if m.Path == manifestPath {
		return skip, r.readManifest(content)
	}
	if m.Kind == unpack.Folder {
		return r.chooseFolder(m)
	}
	old, err := r.old.seek(m.Path)
	if err != nil {
		return skip, err
	}
	there, err := r.disk.look(m.Path)
	switch {
	case err != nil:
		return skip, err
	case there.obstructed:
		return skip, r.keepOther(m, content, "")
	case there.info == nil:
		return unpack.Choice{}, nil
	case there.info.IsDir():
		return r.chooseOverFolder(m, content)
	}
	same, other, err := r.compare(m, there.info, content)
	if err != nil {
		return skip, err
	}
	if same {
		return skip, r.adopt(m, there.info)
	}
	mine, err := r.wrote(old, there)
	if err != nil {
		return skip, err
	}
	if !mine && !r.options.Force {
		reason := ReasonEdited
		if old == nil {
			reason = ReasonUntracked
		}
		return skip, errors.Join(r.keepOther(m, cmp.Or(other, content), reason), closed(other))
	}
	return unpack.Choice{Content: other, Size: m.Size}, nil
}

var skip = unpack.Choice{Skip: true}

func closed(r io.Reader) error {
	if c, ok := r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// wrote reports whether what is there is what a run wrote.
func (r *run) wrote(old *record, there found) (bool, error) {
	if old == nil {
		return false, nil
	}
	return r.disk.has(*old, there, r.header.Written)
}

// adopt takes what is there for what the member is: they are the same.
func (r *run) adopt(m unpack.Member, info fs.FileInfo) error {
	id, err := r.disk.identify(m.Path, info)
	if err != nil {
		return err
	}
	size := info.Size()
	if m.Kind == unpack.Symlink {
		size = int64(len(m.Target))
	}
	return r.note(record{path: m.Path, kind: kindOf(m), id: id, size: size, mtime: info.ModTime().UnixNano()})
}

// keepOther leaves what is there, and notes what should be. Without a reason it
// tells nobody: what is in the way was told of.
func (r *run) keepOther(m unpack.Member, content io.Reader, reason string) error {
	w := record{path: m.Path, kind: kindOf(m), kept: true, size: m.Size}
	switch {
	case m.Kind == unpack.Symlink:
		w.id, w.size = idOf(m.Target), int64(len(m.Target))
	case m.Patch != nil:
		w.id, w.size = m.Patch.ID, m.Patch.Size
	default:
		sum := newSum(m.Size)
		if _, err := io.Copy(sum, content); err != nil {
			return err
		}
		w.id = unpack.ID(sum.Sum(nil))
	}
	if reason != "" {
		r.keep(m.Path, reason)
	}
	return r.note(w)
}

func (r *run) chooseFolder(m unpack.Member) (unpack.Choice, error) {
	p, err := r.disk.folder(m.Path)
	if err != nil {
		return skip, err
	}
	folder := record{path: m.Path + "/", kind: directory}
	if p != obstructed {
		return unpack.Choice{}, r.note(folder)
	}
	there, err := r.disk.look(m.Path)
	if err != nil || there.obstructed {
		return skip, err
	}
	old, err := r.find(m.Path)
	if err != nil {
		return skip, err
	}
	mine, err := r.wrote(old, there)
	if err != nil {
		return skip, err
	}
	if !mine && !r.options.Force {
		r.keep(m.Path, ReasonInTheWay)
		return skip, nil
	}
	r.disk.set(m.Path, missing)
	gone := record{path: m.Path, kind: plainFile, gone: true}
	return unpack.Choice{Replace: true}, errors.Join(r.note(gone), r.note(folder))
}

// chooseOverFolder is for a file or a link where a folder is.
func (r *run) chooseOverFolder(m unpack.Member, content io.Reader) (unpack.Choice, error) {
	if err := r.removeBelow(m.Path); err != nil {
		return skip, err
	}
	empty := r.options.DryRun
	if !empty {
		var err error
		if empty, err = r.disk.isEmpty(m.Path); err != nil {
			return skip, err
		}
	}
	if !empty {
		return skip, r.keepOther(m, content, ReasonInTheWay)
	}
	return unpack.Choice{Replace: true}, nil
}

// comparedAtOnce is read into memory. Of larger files both versions are read side by
// side.
const comparedAtOnce = 1 << 20

// compare reports whether the disk has the member as it is. If it does not and the
// content was read for that, the reader gives all of it again.
func (r *run) compare(m unpack.Member, info fs.FileInfo, content io.Reader) (bool, io.Reader, error) {
	isLink := info.Mode()&fs.ModeSymlink != 0
	size := m.Size
	if m.Patch != nil {
		size = m.Patch.Size
	}
	switch {
	case m.Kind == unpack.Symlink && isLink:
		target, err := r.disk.target(m.Path)
		return target == m.Target, nil, err
	case m.Kind == unpack.Symlink || isLink || !info.Mode().IsRegular() || info.Size() != size ||
		kindOfFile(info) != kindOf(m):
		return false, nil, nil
	case m.Patch != nil:
		id, err := r.disk.identify(m.Path, info)
		return id == m.Patch.ID, nil, err
	}
	file, err := os.Open(r.disk.at(m.Path))
	if err != nil {
		return false, nil, err
	}
	if m.Size > comparedAtOnce {
		return sideBySide(file, content)
	}
	defer func() { _ = file.Close() }() // only read from
	if r.buffer == nil {
		r.buffer = make([]byte, 2*comparedAtOnce)
	}
	theirs, ours := r.buffer[:m.Size], r.buffer[comparedAtOnce:][:m.Size]
	if _, err := io.ReadFull(content, theirs); err != nil {
		return false, nil, err
	}
	if _, err := io.ReadFull(file, ours); err == nil && bytes.Equal(ours, theirs) {
		return true, nil, nil
	}
	return false, bytes.NewReader(theirs), nil
}

// sideBySide compares a large file with a content of the same length. What they have
// in common is read from the file when the content is wanted.
func sideBySide(file *os.File, content io.Reader) (bool, io.Reader, error) {
	common := &prefix{file: file, sum: newSum(0)}
	theirs, ours := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(content, theirs)
		if errors.Is(err, io.EOF) {
			return true, nil, file.Close()
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil, errors.Join(err, file.Close())
		}
		if _, err := io.ReadFull(file, ours[:n]); err != nil || !bytes.Equal(ours[:n], theirs[:n]) {
			common.want = common.sum.Sum(nil)
			common.rest = io.MultiReader(bytes.NewReader(theirs[:n]), content)
			return false, common, common.rewind()
		}
		common.length += int64(n)
		_, _ = common.sum.Write(ours[:n]) // never fails
	}
}

// prefix is a content whose beginning is read from a file, which somebody may be
// writing: it is held against its sum.
type prefix struct {
	file   *os.File
	length int64
	sum    hash.Hash
	want   []byte
	rest   io.Reader
}

func (p *prefix) rewind() error {
	p.sum = newSum(0)
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

func (p *prefix) Read(b []byte) (int, error) {
	if p.length == 0 {
		return p.rest.Read(b)
	}
	n, err := p.file.Read(b[:min(int64(len(b)), p.length)])
	_, _ = p.sum.Write(b[:n]) // never fails
	if p.length -= int64(n); p.length == 0 && !bytes.Equal(p.sum.Sum(nil), p.want) || errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("%s was changed meanwhile: sync again", p.file.Name())
	}
	return n, err
}

// Close implements [io.Closer].
func (p *prefix) Close() error { return p.file.Close() }

// below reports whether a path is in a folder.
func below(path, folder string) bool { return strings.HasPrefix(path, folder+"/") }
