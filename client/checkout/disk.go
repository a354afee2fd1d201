package checkout

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/base/filenames"
	"github.com/repomcp/repomcp/internal/base/swap"
)

// disk examines the files of the folder. Paths must be looked up in order; it remembers the folders
// above the last one.
type disk struct {
	dir   string
	above []above
	able  func() unpack.Abilities // of the file system; called where they can matter
	folds func() bool             // see filenames.IsFoldingLetters
	// listed are the names in folders: see list.
	listed map[string][]string
	// removed are the files that a dry run would have removed, as they are spelled.
	removed paths
}

// above is a folder above a path.
type above struct {
	path string
	way  way
}

// way is the type of what exists at the path of a folder.
type way uint8

const (
	isFolder way = iota
	missing
	// obstructed by a file or a link, at the path or above: nothing below is examined.
	obstructed
)

func newDisk(dir string) *disk {
	d := &disk{dir: dir, listed: make(map[string][]string), removed: paths{}}
	d.folds = sync.OnceValue(func() bool {
		return filenames.IsFoldingLetters(stateFolder, func(name string) (fs.FileInfo, error) {
			return os.Lstat(d.at(name))
		})
	})
	d.able = sync.OnceValue(func() unpack.Abilities {
		able, err := unpack.AbilitiesOf(filepath.Join(dir, stateFolder))
		if err != nil { // the difference counts
			return unpack.Abilities{Modes: true, Links: true, Forms: true}
		}
		return able
	})
	return d
}

type found struct {
	info       fs.FileInfo // nil if nothing exists, or the way is obstructed
	at         time.Time   // just before that
	obstructed bool
}

// mtime is a time that differs after every later change, or 0.
func (f found) mtime() int64 { return lastingTime(f.info.ModTime(), f.at) }

func (d *disk) at(path string) string { return filepath.Join(d.dir, filepath.FromSlash(path)) }

// look examines a path, and follows no links on the way.
func (d *disk) look(at string) (found, error) {
	dir, _ := path.Split(at)
	switch p, err := d.folder(strings.TrimSuffix(dir, "/")); {
	case err != nil || p == missing:
		return found{}, err
	case p == obstructed:
		return found{obstructed: true}, nil
	}
	at, removed, err := d.actual(at)
	if removed || err != nil {
		return found{}, err
	}
	now := time.Now()
	info, err := os.Lstat(d.at(at))
	if isAbsent(err) {
		return found{}, nil
	}
	return found{info: info, at: now}, err
}

// isAbsent reports whether a path does not exist, for example because the file system does not allow its name.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EILSEQ) ||
		errors.Is(err, syscall.EINVAL)
}

func notAbsent(err error) error {
	if isAbsent(err) {
		return nil
	}
	return err
}

// folder examines the path of a folder.
func (d *disk) folder(at string) (way, error) {
	for len(d.above) > 0 {
		top := d.above[len(d.above)-1]
		if at == top.path {
			return top.way, nil
		}
		if strings.HasPrefix(at, top.path+"/") {
			break
		}
		d.above = d.above[:len(d.above)-1]
	}
	if at == "" {
		return isFolder, nil
	}
	parent, _ := path.Split(at)
	p, err := d.folder(strings.TrimSuffix(parent, "/"))
	if err != nil {
		return p, err
	}
	if p == isFolder {
		if p, err = d.wayOf(at); err != nil {
			return p, err
		}
	}
	d.above = append(d.above, above{at, p})
	return p, nil
}

// wayOf examines what is at a path, in a folder.
func (d *disk) wayOf(at string) (way, error) {
	at, removed, err := d.actual(at)
	if removed || err != nil {
		return missing, err
	}
	info, err := os.Lstat(d.at(at))
	switch {
	case isAbsent(err):
		return missing, nil
	case err != nil || info.IsDir():
		return isFolder, err
	default:
		return obstructed, nil
	}
}

// set corrects what is remembered about a folder.
func (d *disk) set(at string, p way) {
	d.forget()
	d.above = append(d.above, above{at, p})
}

// forget must be called after a removal.
func (d *disk) forget() {
	d.above = d.above[:0]
	clear(d.listed)
}

// has reports whether a file matches its record: by size and time, and if those are inconclusive,
// by content. written is when the record became part of a state.
func (d *disk) has(r record, there found, written int64) (bool, error) {
	if there.info == nil {
		return false, nil
	}
	if !d.isKind(there.info, r.kind) {
		return false, nil
	}
	switch {
	case r.kind == directory:
		return true, nil
	case r.kind != link && uint32(there.info.Size()) != uint32(r.size): // git's index has 32 bits
		return false, nil
	case r.kind != link && r.hasTimes(there.info) && !r.isRacy(written):
		return true, nil
	}
	id, err := d.identify(r.path, there.info)
	return id == r.id, err
}

// hasTimes reports whether a file was not changed since the record was made, according to its
// times. A program can set the time of modification, but not the time of change.
func (r record) hasTimes(info fs.FileInfo) bool {
	return info.ModTime().UnixNano() == r.mtime && (r.ctime == 0 || r.ctime == swap.ChangeTime(info))
}

// isKind reports whether a file can be what a run writes for a kind. Where the file system does not keep the bit of
// executable files, or has no symbolic links, a plain file is as right.
func (d *disk) isKind(info fs.FileInfo, want kind) bool {
	switch is := kindOfFile(info); {
	case is == want:
		return true
	case !is.isRegular():
		return false
	case want.isRegular():
		return !d.able().Modes
	default:
		return want == link && !d.able().Links
	}
}

// isRegular reports whether a kind is a file with a content of its own.
func (k kind) isRegular() bool { return k == plainFile || k == executable }

// kindOfFile is 0 for types that no run writes.
func kindOfFile(info fs.FileInfo) kind {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return directory
	case mode&fs.ModeSymlink != 0:
		return link
	case !mode.IsRegular():
		return 0
	case isExecutable(mode):
		return executable
	default:
		return plainFile
	}
}

// refresh updates the times of a racy record from its file if the file is unchanged, and clears
// them otherwise.
func (d *disk) refresh(r *record) error {
	r.mtime, r.ctime = 0, 0
	if !r.isFile() {
		return nil
	}
	there, err := d.look(r.path)
	if err != nil {
		return err
	}
	same, err := d.has(*r, there, 0)
	if same {
		r.setTimes(there)
	}
	return err
}

// complete sets the change time of a run's record, which the rename of its file has changed.
func (d *disk) complete(r *record) error {
	if !r.isFile() || r.ctime != 0 {
		return nil
	}
	there, err := d.look(r.path)
	if err == nil && there.info != nil && there.info.Size() == r.size && there.info.ModTime().UnixNano() == r.mtime {
		r.ctime = swap.ChangeTime(there.info)
	}
	return err
}

// isFile reports whether times reveal changes of the record's file.
func (r record) isFile() bool { return r.isOurs() && r.kind.isRegular() }

func (r *record) setTimes(there found) {
	r.mtime, r.ctime = there.mtime(), swap.ChangeTime(there.info)
}

// identify computes the id of a file or a link.
func (d *disk) identify(at string, info fs.FileInfo) (id unpack.ID, err error) {
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := d.target(at)
		return unpack.IDOf([]byte(target)), err
	}
	file, err := os.Open(d.at(at))
	if err != nil {
		return id, err
	}
	defer func() { _ = file.Close() }() // it was only read
	sum := unpack.NewHash(info.Size())
	n, err := io.Copy(sum, io.LimitReader(file, info.Size()+1))
	if err != nil || n != info.Size() { // another program is writing it: it is no version of a run
		return id, err
	}
	return unpack.ID(sum.Sum(nil)), nil
}

// target returns the target of a link, in the form of archives.
func (d *disk) target(at string) (string, error) {
	target, err := os.Readlink(d.at(at))
	return filepath.ToSlash(target), err
}

// contents are the contents of a folder, at any depth.
type contents struct {
	files      int      // including links
	removed    int      // of these by a dry run, as far as the disk knows
	hollow     []string // empty folders
	repository bool     // there is a .git
}

// isEmpty reports whether a folder is empty or does not exist.
func (c contents) isEmpty(at string) bool {
	return c.files == 0 && (len(c.hollow) == 0 || c.hollow[0] == at)
}

func (d *disk) contents(at string) (c contents, err error) {
	spelled, _, err := d.actual(at)
	if err != nil {
		return c, err
	}
	entries, err := os.ReadDir(d.at(spelled))
	if err != nil {
		return c, notAbsent(err)
	}
	if len(entries) == 0 {
		c.hollow = []string{at}
	}
	for _, e := range entries {
		c.repository = c.repository || strings.EqualFold(e.Name(), ".git")
		if !e.IsDir() {
			if c.files++; d.removed[spelled+"/"+e.Name()] {
				c.removed++
			}
			continue
		}
		below, err := d.contents(at + "/" + e.Name())
		if err != nil {
			return c, err
		}
		c.files += below.files
		c.removed += below.removed
		c.hollow = append(c.hollow, below.hollow...)
		c.repository = c.repository || below.repository
	}
	return c, nil
}
