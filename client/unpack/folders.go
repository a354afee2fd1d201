package unpack

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/base/filenames"
	"github.com/repomcp/repomcp/internal/base/swap"
)

// folder is a folder with members. It is opened when the first of them is written: skipped members
// make no folder.
type folder struct {
	parent  *folder
	name    string
	path    string           // "" for the root
	members map[string]named // by key
	held    int              // memory of members, in bytes
	given   bool             // it was a member itself

	root   *os.Root     // nil until it is opened
	shared *swap.Folder // the same, for folders with files of others; nil until needed
	users  atomic.Int32
}

type named struct {
	name   string
	folder bool
}

func (f *folder) child(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "/" + name
}

// release ends one use. An open folder holds file descriptors.
func (f *folder) release() {
	if f.users.Add(-1) > 0 {
		return
	}
	if f.shared != nil {
		_ = f.shared.Close() // it was only read
	}
	if f.root != nil && f.parent != nil {
		_ = f.root.Close() // likewise
	}
}

// folders are those from the root to the present member. Members of a folder are adjacent, so the
// names in all other folders can be forgotten.
type folders struct {
	stack []*folder
	same  *filenames.Folding // nil: names may repeat
	held  int                // memory of names and links, in bytes
	// made is called for each new folder; nil means that no folders are made.
	made    func(*folder, fs.FileInfo) error
	inTurns bool // of the Unpacker
}

func (u *Unpacker) newFolders(same *filenames.Folding, made func(*folder, fs.FileInfo) error) *folders {
	s := &folders{same: same, made: made, inTurns: u.inTurns}
	s.push(&folder{root: u.root})
	return s
}

func (s *folders) push(f *folder) {
	f.members = map[string]named{}
	f.users.Add(1)
	s.stack = append(s.stack, f)
}

func (s *folders) top() *folder { return s.stack[len(s.stack)-1] }

func (s *folders) enter(dir string) (*folder, error) {
	for f := s.top(); f.path != dir && !strings.HasPrefix(dir, f.path+"/") && f.parent != nil; f = s.top() {
		s.leave()
	}
	for f := s.top(); f.path != dir; f = s.top() {
		rest := dir
		if f.parent != nil {
			rest = dir[len(f.path)+1:]
		}
		name, _, _ := strings.Cut(rest, "/")
		if err := s.claim(f, name, true); err != nil {
			return nil, err
		}
		s.push(&folder{parent: f, name: name, path: f.child(name)})
	}
	return s.top(), nil
}

// give enters a folder that is a member itself.
func (s *folders) give(dir string) (*folder, error) {
	f, err := s.enter(dir)
	if err != nil {
		return nil, err
	}
	if f.given {
		return nil, refuse(Twice, dir)
	}
	f.given = true
	return f, nil
}

func (s *folders) leave() {
	f := s.top()
	s.held -= f.held
	s.stack = s.stack[:len(s.stack)-1]
	f.release()
}

func (s *folders) close() {
	for len(s.stack) > 0 {
		s.leave()
	}
}

// claim registers a name, which must be new.
func (s *folders) claim(f *folder, name string, isFolder bool) error {
	if s.same == nil {
		return nil
	}
	key := s.same.Key(name)
	other, taken := f.members[key]
	path := f.child(name)
	switch {
	case !taken:
	case other.name != name:
		return refuse(Clash, f.child(other.name), path)
	case other.folder != isFolder:
		return refuse(TwoKinds, path)
	case isFolder:
		return refuse(Scattered, path)
	default:
		return refuse(Twice, path)
	}
	costs := len(name) + nameCosts
	f.members[key] = named{name, isFolder}
	f.held += costs
	return s.hold(costs, path)
}

func (s *folders) hold(bytes int, path string) error {
	if s.held += bytes; s.held > heldNames {
		return &LimitError{Limit: "names", Path: path, Most: heldNames}
	}
	return nil
}

// open returns the folder on the disk. Each step goes from an open folder to a name in it that is
// no link, so concurrent changes of the path are harmless.
func (s *folders) open(f *folder) (*os.Root, error) {
	if f.root != nil {
		return f.root, nil
	}
	parent, err := s.open(f.parent)
	if err != nil {
		return nil, err
	}
	made := false
	if s.made != nil {
		if made, err = f.make(parent); err != nil {
			return nil, atPath(f.path, withReason(parent, f.path, err))
		}
	}
	root, info, err := pin(parent, f.name, f.path)
	if err != nil {
		return nil, err
	}
	if f.root = root; made {
		err = s.made(f, info)
	}
	return f.root, err
}

// openFor opens a folder for a chosen member.
func (s *folders) openFor(f *folder, choice Choice) error {
	_, err := s.open(f)
	if err == nil && choice.Yields != nil {
		err = s.share(f)
	}
	return err
}

// share prepares an open folder for a [spot].
func (s *folders) share(f *folder) (err error) {
	if f.shared == nil {
		f.shared, err = swap.Open(f.root, s.inTurns)
	}
	return err
}

func (f *folder) make(parent *os.Root) (bool, error) {
	err := parent.Mkdir(f.name, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// pin opens a folder in another one, and verifies that it is the folder that was examined: Root
// follows links that stay inside.
func pin(parent *os.Root, name, path string) (*os.Root, fs.FileInfo, error) {
	info, err := parent.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, err
	case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0: // Windows' junctions are irregular
		return nil, nil, refuse(ThroughLink, path)
	case !info.IsDir():
		return nil, nil, refuse(InTheWay, path)
	}
	root, err := parent.OpenRoot(name)
	if err != nil {
		return nil, nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = refuse(ThroughLink, path)
	}
	if err != nil {
		_ = root.Close() // it was only read
		return nil, nil, err
	}
	return root, opened, nil
}
