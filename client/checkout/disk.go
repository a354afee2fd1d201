package checkout

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/swap"
)

// disk is what the folder has. It is asked in the order of paths, and remembers the
// folders above the last one.
type disk struct {
	dir   string
	above []above
}

// above is a folder on the way to a path.
type above struct {
	path string
	way  way
}

// way is what there is where a folder is asked for.
type way uint8

const (
	isFolder way = iota
	missing
	// obstructed by a file or a link, here or above: what is below is not looked at.
	obstructed
)

func newDisk(dir string) *disk { return &disk{dir: dir} }

type found struct {
	info       fs.FileInfo // nil where there is nothing, or the way is obstructed
	obstructed bool
}

func (d *disk) at(path string) string { return filepath.Join(d.dir, filepath.FromSlash(path)) }

// look says what is at a path, and not what is behind a link on the way to it.
func (d *disk) look(at string) (found, error) {
	dir, _ := path.Split(at)
	switch p, err := d.folder(strings.TrimSuffix(dir, "/")); {
	case err != nil || p == missing:
		return found{}, err
	case p == obstructed:
		return found{obstructed: true}, nil
	}
	info, err := os.Lstat(d.at(at))
	if isAbsent(err) {
		return found{}, nil
	}
	return found{info: info}, err
}

// isAbsent reports that there is nothing, which some systems say of a name that they
// cannot have as well.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func notAbsent(err error) error {
	if isAbsent(err) {
		return nil
	}
	return err
}

// folder says what is where a folder should be.
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
		info, err := os.Lstat(d.at(at))
		switch {
		case isAbsent(err):
			p = missing
		case err != nil:
			return p, err
		case !info.IsDir():
			p = obstructed
		}
	}
	d.above = append(d.above, above{at, p})
	return p, nil
}

// set corrects what a folder is remembered as.
func (d *disk) set(at string, p way) {
	d.forget()
	d.above = append(d.above, above{at, p})
}

// forget is for after something was removed.
func (d *disk) forget() { d.above = d.above[:0] }

// has reports whether there is what a record says: by size and time, and where
// those do not tell, by the content. written is when the record became part of a
// state.
func (d *disk) has(r record, there found, written int64) (bool, error) {
	if there.info == nil {
		return false, nil
	}
	if kindOfFile(there.info) != r.kind {
		return false, nil
	}
	switch {
	case r.kind == directory:
		return true, nil
	case r.kind != link && there.info.Size() != r.size:
		return false, nil
	case r.kind != link && r.hasTimes(there.info) && !r.isRacy(written):
		return true, nil
	}
	id, err := d.identify(r.path, there.info)
	return id == r.id, err
}

// hasTimes reports whether a file was not changed since the record was made, as far as
// times tell. A program may set that of modification, and no other.
func (r record) hasTimes(info fs.FileInfo) bool {
	return info.ModTime().UnixNano() == r.mtime && (r.ctime == 0 || r.ctime == swap.ChangeTime(info))
}

// kindOfFile is 0 for what no run writes.
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

// refresh gives a record that was racy the times that its file has, if that is the
// same, and else none.
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
		r.setTimes(there.info)
	}
	return err
}

// complete gives a record of a run the time that the system gave its file with the name.
func (d *disk) complete(r *record) error {
	if !r.isFile() || r.ctime != 0 {
		return nil
	}
	there, err := d.look(r.path)
	if err == nil && there.info != nil && there.info.Size() == r.size && there.info.ModTime().UnixNano() == r.mtime {
		r.setTimes(there.info)
	}
	return err
}

// isFile reports whether the times of what a run has put there tell of changes.
func (r record) isFile() bool { return r.isOurs() && (r.kind == plainFile || r.kind == executable) }

func (r *record) setTimes(info fs.FileInfo) {
	r.mtime, r.ctime = info.ModTime().UnixNano(), swap.ChangeTime(info)
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
	defer func() { _ = file.Close() }() // only read from
	sum := unpack.NewHash(info.Size())
	n, err := io.Copy(sum, io.LimitReader(file, info.Size()+1))
	if err != nil || n != info.Size() { // somebody is writing it: it is no version of ours
		return id, err
	}
	return unpack.ID(sum.Sum(nil)), nil
}

// target is that of a link, as archives have it.
func (d *disk) target(at string) (string, error) {
	target, err := os.Readlink(d.at(at))
	return filepath.ToSlash(target), err
}

// contents are what a folder has in it, at any depth.
type contents struct {
	files      int      // and links
	hollow     []string // folders with nothing in them
	repository bool     // there is a .git
}

// isEmpty reports whether nothing is in the folder, or it is not there.
func (c contents) isEmpty(at string) bool {
	return c.files == 0 && (len(c.hollow) == 0 || c.hollow[0] == at)
}

func (d *disk) contents(at string) (c contents, err error) {
	entries, err := os.ReadDir(d.at(at))
	if err != nil {
		return c, notAbsent(err)
	}
	if len(entries) == 0 {
		c.hollow = []string{at}
	}
	for _, e := range entries {
		c.repository = c.repository || strings.EqualFold(e.Name(), ".git")
		if !e.IsDir() {
			c.files++
			continue
		}
		below, err := d.contents(at + "/" + e.Name())
		if err != nil {
			return c, err
		}
		c.files += below.files
		c.hollow = append(c.hollow, below.hollow...)
		c.repository = c.repository || below.repository
	}
	return c, nil
}
