package checkout

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/repomcp/repomcp/client/unpack"
)

// choose decides about a member of the archive, in the order of the archive. It applies patches.
func (r *run) choose(m unpack.Member, content io.Reader) (unpack.Choice, error) {
	r.seeFolder(m)
	choice, err := r.decide(m, content)
	if err != nil || choice.Skip || m.Patch == nil {
		return choice, err
	}
	choice.Content, err = r.patched(m, content)
	choice.Size, choice.ID = m.Patch.Size, m.Patch.ID
	return choice, err
}

// seeFolder finds the folders that are empty in the archive: those of submodules.
func (r *run) seeFolder(m unpack.Member) {
	if r.entered != "" && !below(m.Path, r.entered) {
		r.hollow.add(r.entered)
	}
	if r.entered = ""; m.Kind == unpack.Folder {
		r.entered = m.Path
	}
}

var skip = unpack.Choice{Skip: true}

func (r *run) decide(m unpack.Member, content io.Reader) (unpack.Choice, error) {
	if m.Path == manifestPath {
		return skip, r.readManifest(m.Size, content)
	}
	if r.wanted != nil && !r.wanted[m.Path] {
		return skip, nil
	}
	switch respelled, err := r.isRespelled(m); {
	case err != nil:
		return skip, err
	case respelled:
		return r.chooseRespelled(m, content)
	}
	if m.Kind == unpack.Folder {
		return r.chooseFolder(m)
	}
	old, err := r.old.seek(m.Path)
	if err != nil {
		return skip, err
	}
	if m.Outside && !r.options.AllowExternalSymlinks {
		return skip, r.skipLink(m.Path, old)
	}
	there, err := r.disk.look(m.Path)
	want := wanted(m)
	switch {
	case err != nil:
		return skip, err
	case old != nil && old.flag == previewed: // by the previous archive of this run
		return skip, r.note(*old)
	case there.obstructed:
		return skip, r.stay(want, old, content, r.obstacle())
	case there.info == nil:
		return unpack.Choice{Yields: r.yields(m.Path, old, there)}, nil
	case there.info.IsDir():
		return r.chooseOverFolder(want, old, content)
	default:
		return r.chooseOverFile(want, old, there, content)
	}
}

// obstacle is the reason of a file whose folder something obstructs, or "" where the folder, which is a member of its
// own, was reported. The folders of a clone's difference are not wanted.
func (r *run) obstacle() string {
	if r.wanted != nil {
		return ReasonInTheWay
	}
	return ""
}

func (r *run) chooseOverFile(want record, old *record, there found, content io.Reader) (unpack.Choice, error) {
	same, held, err := r.compare(&want, there, content)
	if err != nil {
		return skip, err
	}
	if same {
		return skip, errors.Join(r.note(want), closed(held))
	}
	reason, err := r.refusal(want.path, old, there)
	if err != nil {
		return skip, errors.Join(err, closed(held))
	}
	if reason != "" {
		if held != nil {
			content = held
		}
		return skip, errors.Join(r.stay(want, old, content, reason), closed(held))
	}
	choice := unpack.Choice{Yields: r.yields(want.path, old, there)}
	if held != nil {
		choice.Content, choice.Size = held, want.size
	}
	return choice, nil
}

// refusal returns why a file may not be overwritten or removed; "" if it may.
func (r *run) refusal(path string, old *record, there found) (reason string, err error) {
	ours, err := r.wrote(old, there)
	switch {
	case err != nil:
		return "", err
	case !ours && !r.options.forces(path) && old == nil:
		return ReasonUntracked, nil
	case !ours && !r.options.forces(path):
		return ReasonEdited, nil
	case r.options.Replaces != nil && !r.options.Replaces(path):
		return ReasonHeld, nil
	default:
		return "", nil
	}
}

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

// wanted is the record of a member that is no folder. The id of a file without a patch is unknown
// before its content was read.
func wanted(m unpack.Member) record {
	w := record{path: m.Path, kind: kindOf(m), flag: brought, size: m.Size}
	switch {
	case m.Kind == unpack.Symlink:
		w.id, w.size = unpack.IDOf([]byte(m.Target)), int64(len(m.Target))
	case m.Patch != nil:
		w.id, w.size = m.Patch.ID, m.Patch.Size
	}
	return w
}

// stay keeps the present file, and notes which version should be there. Without a reason it reports
// nothing: the obstacle was reported.
func (r *run) stay(want record, old *record, content io.Reader, reason string) error {
	if want.id == (unpack.ID{}) {
		sum := unpack.NewHash(want.size)
		if _, err := io.Copy(sum, content); err != nil {
			return err
		}
		want.id = unpack.ID(sum.Sum(nil))
	}
	if old != nil && old.flag == accepted && old.id == want.id && old.kind == want.kind {
		return r.note(*old)
	}
	if reason != "" {
		r.keep(Event{Path: want.path, Reason: reason})
	}
	want.flag = kept
	if reason == ReasonHeld {
		want = want.postpone(old)
	}
	return r.note(want)
}

// skipLink skips a link that leads outside, and keeps what is in its place.
func (r *run) skipLink(path string, old *record) error {
	there, err := r.disk.look(path)
	if err != nil {
		return err
	}
	if there.info != nil && there.info.IsDir() {
		r.spared.add(path)
	}
	r.mu.Lock()
	r.result.skip(path)
	r.tell(Event{Event: EventSkipped, Path: path, Reason: ReasonOutside})
	r.mu.Unlock()
	note := record{path: path, kind: nothing}
	if old != nil && old.isOurs() {
		note = *old
	}
	note.flag = skipped
	return r.note(note)
}

func (r *run) chooseFolder(m unpack.Member) (unpack.Choice, error) {
	p, err := r.disk.folder(m.Path)
	if err != nil {
		return skip, err
	}
	folder := record{path: m.Path + "/", kind: directory, flag: brought}
	if r.options.DryRun && p != isFolder {
		folder.flag = previewed
	}
	if p != obstructed {
		if r.links[m.Path] { // the content that the link replaces
			err = r.removeBelow(m.Path)
		}
		if !r.isWhole() { // there may have been a file, which a delta does not mention
			err = errors.Join(err, r.note(record{path: m.Path, kind: nothing, flag: gone}))
		}
		return unpack.Choice{}, errors.Join(err, r.note(folder))
	}
	there, err := r.disk.look(m.Path)
	if err != nil || there.obstructed {
		return skip, err
	}
	if cleared, err := r.clear(m.Path, there); !cleared || err != nil {
		return skip, err
	}
	r.disk.set(m.Path, missing)
	return unpack.Choice{}, r.note(folder)
}

// clear removes the file in place of a new folder.
func (r *run) clear(path string, there found) (bool, error) {
	old, err := r.find(path)
	if err != nil {
		return false, err
	}
	ours, err := r.wrote(old, there)
	if err != nil {
		return false, err
	}
	if !ours && !r.options.forces(path) {
		r.keep(Event{Path: path, Reason: ReasonInTheWay})
		return false, nil
	}
	if r.options.DryRun {
		return true, r.note(record{path: path, kind: plainFile, flag: gone})
	}
	stays, err := r.unpacker.Remove([]unpack.Removal{{Path: path, Yields: r.yields(path, old, there)}}, nil)
	for _, s := range stays {
		reason := ReasonInTheWay
		if s.InUse && old != nil && old.isOurs() {
			reason = ReasonInUse
			err = errors.Join(err, r.note(old.leave()))
		}
		r.keep(Event{Path: path, Reason: reason, Copy: s.Copy})
	}
	return len(stays) == 0, err
}

func (r *run) chooseOverFolder(want record, old *record, content io.Reader) (unpack.Choice, error) {
	gone, err := r.removeFolder(want.path)
	if err != nil {
		return skip, err
	}
	there, err := r.disk.look(want.path)
	switch {
	case err != nil:
		return skip, err
	case gone || there.info == nil:
		return unpack.Choice{Yields: r.yields(want.path, old, there)}, nil
	case r.options.forces(want.path):
		in, err := r.disk.contents(want.path)
		if err != nil || !in.repository {
			return unpack.Choice{Yields: r.yields(want.path, nil, there)}, err
		}
	}
	return skip, r.stay(want, old, content, ReasonInTheWay)
}

// compare reports whether the disk has the wanted version, and then sets the id and the time in
// want. If it had to read the content, held is a reader of all of it.
func (r *run) compare(want *record, there found, content io.Reader) (same bool, held io.Reader, err error) {
	info := there.info
	if !r.disk.isKind(info, want.kind) || want.kind != link && info.Size() != want.size {
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
		want.mtime = there.mtime()
	}
	return same, held, nil
}

// heldAtOnce is the largest content that is held in memory; larger ones are held in a file.
const heldAtOnce = 1 << 20

// hold reads a content before the decision about it. It returns a reader of all of it, and the id.
func (r *run) hold(size int64, content io.Reader) (io.ReadSeeker, unpack.ID, error) {
	sum := unpack.NewHash(size)
	if size <= heldAtOnce {
		if r.buffer == nil {
			r.buffer = make([]byte, heldAtOnce)
		}
		held := r.buffer[:size]
		_, err := io.ReadFull(io.TeeReader(content, sum), held)
		return bytes.NewReader(held), unpack.ID(sum.Sum(nil)), err
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
