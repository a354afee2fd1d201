package checkout

import (
	"bytes"
	"cmp"
	"errors"
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
	want := wanted(m)
	switch {
	case err != nil:
		return skip, err
	case there.obstructed:
		return skip, r.keepOther(want, content, "")
	case there.info == nil:
		return unpack.Choice{}, nil
	case there.info.IsDir():
		return r.chooseOverFolder(want, content)
	}
	same, held, err := r.compare(&want, there.info, content)
	if err != nil {
		return skip, err
	}
	if same {
		return skip, errors.Join(r.note(want), closed(held))
	}
	mine, err := r.wrote(old, there)
	if err != nil {
		return skip, errors.Join(err, closed(held))
	}
	if !mine && !r.options.Force {
		reason := ReasonEdited
		if old == nil {
			reason = ReasonUntracked
		}
		return skip, errors.Join(r.keepOther(want, cmp.Or(held, content), reason), closed(held))
	}
	return unpack.Choice{Content: held, Size: m.Size}, nil
}

var skip = unpack.Choice{Skip: true}

func closed(r io.Reader) error {
	if c, ok := r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (r *run) wrote(old *record, there found) (bool, error) {
	if old == nil {
		return false, nil
	}
	return r.disk.has(*old, there, r.header.Written)
}

// wanted is the record of a member that is no folder. That of a file which comes whole has
// no id before the content was read.
func wanted(m unpack.Member) record {
	w := record{path: m.Path, kind: kindOf(m), size: m.Size}
	switch {
	case m.Kind == unpack.Symlink:
		w.id, w.size = unpack.IDOf([]byte(m.Target)), int64(len(m.Target))
	case m.Patch != nil:
		w.id, w.size = m.Patch.ID, m.Patch.Size
	}
	return w
}

// keepOther leaves what is there, and notes what should be. Without a reason it
// tells nobody: what is in the way was told of.
func (r *run) keepOther(want record, content io.Reader, reason string) error {
	if want.id == (unpack.ID{}) {
		sum := unpack.NewHash(want.size)
		if _, err := io.Copy(sum, content); err != nil {
			return err
		}
		want.id = unpack.ID(sum.Sum(nil))
	}
	if reason != "" {
		r.keep(want.path, reason)
	}
	want.kept = true
	return r.note(want)
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

func (r *run) chooseOverFolder(want record, content io.Reader) (unpack.Choice, error) {
	if err := r.removeBelow(want.path); err != nil {
		return skip, err
	}
	empty := r.options.DryRun
	if !empty {
		var err error
		if empty, err = r.disk.isEmpty(want.path); err != nil {
			return skip, err
		}
	}
	if !empty {
		return skip, r.keepOther(want, content, ReasonInTheWay)
	}
	return unpack.Choice{Replace: true}, nil
}

// compare reports whether the disk has what is wanted, which gets the id and the time of
// it then. If the content was read for that, the reader gives all of it again.
func (r *run) compare(want *record, info fs.FileInfo, content io.Reader) (same bool, held io.Reader, err error) {
	if kindOfFile(info) != want.kind || want.kind != link && info.Size() != want.size {
		return false, nil, nil
	}
	if want.id == (unpack.ID{}) {
		if held, want.id, err = r.hold(want.size, content); err != nil {
			return false, nil, err
		}
	}
	id, err := r.disk.identify(want.path, info)
	if err != nil {
		return false, nil, errors.Join(err, closed(held))
	}
	if same = id == want.id; same {
		want.mtime = info.ModTime().UnixNano()
	}
	return same, held, nil
}

// heldAtOnce is read into memory. What is larger is in a file meanwhile.
const heldAtOnce = 1 << 20

// hold reads a content before it is decided about. It returns all of it again, for what
// may write, and the id.
func (r *run) hold(size int64, content io.Reader) (io.Reader, unpack.ID, error) {
	sum := unpack.NewHash(size)
	if size <= heldAtOnce {
		if r.buffer == nil {
			r.buffer = make([]byte, heldAtOnce)
		}
		held := r.buffer[:size]
		_, err := io.ReadFull(io.TeeReader(content, sum), held)
		return bytes.NewReader(held), unpack.ID(sum.Sum(nil)), err
	}
	if r.options.DryRun {
		_, err := io.Copy(sum, content)
		return nil, unpack.ID(sum.Sum(nil)), err
	}
	file, err := os.Create(r.path(heldName))
	if err != nil {
		return nil, unpack.ID{}, err
	}
	_, err = io.Copy(io.MultiWriter(file, sum), content)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, unpack.ID{}, errors.Join(err, spool{file}.Close())
	}
	return spool{file}, unpack.ID(sum.Sum(nil)), nil
}

type spool struct{ *os.File }

func (s spool) Close() error { return errors.Join(s.File.Close(), os.Remove(s.Name())) }

func below(path, folder string) bool { return strings.HasPrefix(path, folder+"/") }
