package unpack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/repomcp/repomcp/internal/base/swap"
)

// Yields decides whether the file at the path of a member, or of a [Removal], may be deleted. It is
// called while the file lies aside under another name, where no program finds it, so the decision
// holds until the file is deleted. False puts the file back. Calls come from several goroutines at
// the same time.
type Yields func(aside string, info fs.FileInfo) (bool, error)

// Stay says that a path keeps its file: a member did not replace it, or it was not removed.
type Stay struct {
	Written Written // the member; for a removal only the path
	// InUse says that a program has the file open for writing. Yields was not called.
	InUse bool
	// Copy is the path of another version, which was saved while this one was put back; "" nearly
	// always.
	Copy string
}

const (
	// KeptSuffix follows the file's name in a [Stay].Copy. A number may follow.
	KeptSuffix = ".repomcp-kept"
	// oldSuffix ends the name of a replaced file that lies aside; the file that replaces it waits
	// under the name without the suffix.
	oldSuffix = "-old"
	// longestKept bounds the file's name in that of its copy, which may have 255 bytes.
	longestKept = 200
)

// spot is a name in a shared folder, and the temporary name beside it: of a file that waits for the
// name, or of one that lost it.
type spot struct {
	folder      *folder
	name, aside string
	yields      Yields
}

// put gives our waiting file its name. The previous file is deleted, or gets the name back: then
// put returns a stay. After an error either file may lie aside.
func (s *spot) put(ours fs.FileInfo) (*Stay, error) {
	for {
		// Most files of a whole archive are new.
		err := s.move(s.aside, s.name)
		switch {
		case err == nil:
			return nil, nil //nolint:nilnil // nothing stays
		case !errors.Is(err, fs.ErrExist): // no file was taken out, so ours lies aside
			return nil, errors.Join(err, removeIfThere(s.folder.root, s.aside))
		}
		old, err := s.takeOut()
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was just removed
			continue
		case swap.IsBusy(err):
			return &Stay{InUse: true}, s.folder.root.Remove(s.aside)
		case err != nil:
			return nil, err
		case old == s.aside:
			return s.keepExchanged(ours)
		default:
			return s.replaceBy(old)
		}
	}
}

// takeOut takes the name from the present file, and returns the name under which that lies then:
// that of the waiting file, if the two could be exchanged.
func (s *spot) takeOut() (old string, err error) {
	err = s.exchange()
	if !errors.Is(err, errors.ErrUnsupported) {
		return s.aside, err
	}
	old = s.aside + oldSuffix
	return old, s.folder.root.Rename(s.name, old)
}

// keepExchanged deletes the file that an exchange moved aside, or undoes the exchange.
func (s *spot) keepExchanged(ours fs.FileInfo) (*Stay, error) {
	stay, err := s.judge(s.aside)
	if stay == nil {
		return nil, errors.Join(err, s.folder.root.RemoveAll(s.aside))
	}
	var other error
	stay.Copy, other = s.undo(ours)
	return stay, errors.Join(err, other)
}

// undo gives the file that lies aside its name back, and removes our file that had replaced it. If
// that was saved over meanwhile, the saved file keeps the name, and the previous one becomes a
// copy.
func (s *spot) undo(ours fs.FileInfo) (copied string, err error) {
	err = s.exchange()
	if errors.Is(err, fs.ErrNotExist) { // the new file was removed
		return s.putBack(s.aside)
	}
	if err != nil {
		return "", err
	}
	info, w, err := s.examine(s.aside)
	if err != nil {
		return "", err
	}
	if w != isWritten && swap.IsSame(ours, info) {
		return "", s.folder.root.Remove(s.aside)
	}
	if err := s.exchange(); err != nil {
		return "", err
	}
	return s.keepCopy(s.aside)
}

// replaceBy gives the waiting file its name, after the name was taken from the file at old.
func (s *spot) replaceBy(old string) (*Stay, error) {
	stay, err := s.judge(old)
	if stay != nil {
		var other error
		stay.Copy, other = s.putBack(old)
		return stay, errors.Join(err, other, s.folder.root.Remove(s.aside))
	}
	err = s.move(s.aside, s.name)
	if errors.Is(err, fs.ErrExist) { // a file was saved there
		stay, err = &Stay{}, s.folder.root.Remove(s.aside)
	}
	return stay, errors.Join(err, s.folder.root.RemoveAll(old))
}

// remove deletes the file, unless it has to stay.
func (s *spot) remove() (*Stay, error) {
	root := s.folder.root
	switch err := root.Rename(s.name, s.aside); {
	case swap.IsBusy(err):
		return &Stay{InUse: true}, nil
	case err != nil:
		return nil, absent(err)
	}
	stay, err := s.judge(s.aside)
	if stay == nil {
		return nil, root.RemoveAll(s.aside)
	}
	var other error
	stay.Copy, other = s.putBack(s.aside)
	return stay, errors.Join(err, other)
}

// judge decides whether the file under one of our names has to stay; nil if it does not. After an
// error it has to.
func (s *spot) judge(name string) (*Stay, error) {
	info, w, err := s.examine(name)
	switch {
	case err != nil:
		return &Stay{}, err
	case w == isWritten:
		return &Stay{InUse: true}, nil
	case info.IsDir() && s.folder.root.Remove(name) == nil:
		return nil, nil //nolint:nilnil // it was empty
	}
	yields, err := s.yields(s.folder.child(name), info)
	if err == nil && yields && w == mayBeWritten {
		var again fs.FileInfo
		if again, err = s.folder.root.Lstat(name); err == nil {
			yields = swap.IsSame(info, again)
		}
	}
	if err == nil && yields {
		return nil, nil //nolint:nilnil // see above
	}
	return &Stay{}, err
}

// writing says whether a program has a file open for writing.
type writing uint8

const (
	notWritten writing = iota
	mayBeWritten
	isWritten
)

// examine examines the file under one of our names. If no program writes it, it cannot change any
// more.
func (s *spot) examine(name string) (info fs.FileInfo, w writing, err error) {
	info, err = s.folder.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return info, notWritten, err
	}
	switch has, known := s.folder.shared.HasWriter(name); {
	case has:
		w = isWritten
	case !known:
		w = mayBeWritten
	}
	// A program may have written and closed the file meanwhile.
	info, err = s.folder.root.Lstat(name)
	return info, w, err
}

// putBack gives the file under one of our names its own name back, or that of a copy if another
// file has the name by now.
func (s *spot) putBack(old string) (copied string, err error) {
	err = s.move(old, s.name)
	if errors.Is(err, fs.ErrExist) {
		return s.keepCopy(old)
	}
	return "", err
}

// keepCopy gives a file the first free name of a copy.
func (s *spot) keepCopy(old string) (copied string, err error) {
	name := strings.ToValidUTF8(s.name[:min(len(s.name), longestKept)], "") + KeptSuffix
	copied = name
	for n := 2; ; n++ {
		if err := s.move(old, copied); !errors.Is(err, fs.ErrExist) {
			return s.folder.child(copied), err
		}
		copied = fmt.Sprintf("%s-%d", name, n)
	}
}

func (s *spot) exchange() error { return s.folder.shared.Exchange(s.aside, s.name) }

// move renames, and fails with fs.ErrExist if the target exists.
func (s *spot) move(from, to string) error { return s.folder.shared.Move(from, to) }

// Origin says where a file comes from that a killed run has left aside.
type Origin uint8

// The origins.
const (
	FromUser   Origin = iota // a user has saved it
	FromBefore               // an earlier run wrote it
	FromRun                  // the run was about to give it a name
)

// Settle finishes what a killed run had begun with a path; aside is the [Written].Aside that
// [Options].Ready got, and of returns the origin of a file. A file that a user saved gets its name
// back, or that of a copy, which is returned. The rest is deleted.
func (u *Unpacker) Settle(
	at, aside string, of func(path string, info fs.FileInfo) (Origin, error),
) (copied string, err error) {
	s := u.newFolders(nil, nil)
	defer s.close()
	for _, name := range []string{aside, aside + oldSuffix} {
		root, _, err := s.locate(name)
		if _, elsewhere := errors.AsType[*RefusedError](err); root == nil && (err == nil || elsewhere) {
			continue
		}
		if err == nil {
			err = s.share(s.top())
		}
		if err == nil {
			copied, err = (&spot{s.top(), path.Base(at), path.Base(name), nil}).settle(of)
		}
		if err != nil || copied != "" {
			return copied, err
		}
	}
	return "", nil
}

func (s *spot) settle(of func(path string, info fs.FileInfo) (Origin, error)) (copied string, err error) {
	f := s.folder
	aside, err := f.root.Lstat(s.aside)
	if err != nil {
		return "", err
	}
	origin, err := of(f.child(s.aside), aside)
	switch {
	case err != nil:
		return "", err
	case origin == FromRun:
		return "", f.root.Remove(s.aside)
	}
	there, err := f.root.Lstat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.putBack(s.aside)
	case err != nil:
		return "", err
	case origin == FromBefore, os.SameFile(aside, there):
		return "", f.root.RemoveAll(s.aside)
	}
	if origin, err = of(f.child(s.name), there); err != nil {
		return "", err
	}
	if origin != FromRun {
		return s.keepCopy(s.aside)
	}
	// The file of the killed run is replaced.
	if s.exchange() == nil {
		return "", f.root.RemoveAll(s.aside)
	}
	if err := f.root.Remove(s.name); err != nil {
		return "", err
	}
	return s.putBack(s.aside)
}
