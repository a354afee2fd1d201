package checkout

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/base/filenames"
)

// errRespelled says that a whole archive has names that differ in case only from those in the folder, on a file system
// that takes both for one. The run has removed what earlier runs wrote under the other names, and the next attempt
// writes it under these.
var errRespelled = errors.New("names of the commit differ in case from those in the folder")

// isRespelled reports whether a member that no run has written leads to something that is there under another name.
func (r *run) isRespelled(m unpack.Member) (bool, error) {
	switch {
	case r.some != nil || r.respelled && r.isWhole():
		return false, nil
	case r.misnamed != "" && below(m.Path, r.misnamed):
		return true, nil
	}
	if is, err := r.disk.isRespelled(m.Path); !is || err != nil {
		return false, err
	}
	recorded := m.Path
	if m.Kind == unpack.Folder {
		recorded += "/"
	}
	if old, err := r.old.seek(recorded); old != nil || err != nil {
		return false, err
	}
	if r.isWhole() {
		return true, nil
	}
	there, err := r.disk.look(m.Path)
	return there.info != nil && !there.info.IsDir(), err
}

// chooseRespelled decides about such a member. A difference has its deletions first, so that what is left is another
// file. A whole archive shows only at its end what is to be deleted: the member waits for the next attempt.
func (r *run) chooseRespelled(m unpack.Member, content io.Reader) (unpack.Choice, error) {
	switch {
	case r.isWhole() && r.options.DryRun:
		return unpack.Choice{}, nil
	case r.isWhole():
		if !below(m.Path, r.misnamed) {
			r.misnamed = m.Path
		}
		return skip, nil
	case m.Kind == unpack.Folder:
		return r.chooseFolder(m)
	default:
		return skip, r.stay(wanted(m), nil, content, ReasonUntracked)
	}
}

// folding says which paths the file system can take for a path.
func (d *disk) folding(at string) filenames.Folding {
	return filenames.Folding{Letters: d.folds(), Forms: !filenames.IsASCII(at) && !d.able().Forms}
}

// isRespelled reports whether the file system takes the last name of a path for another one, which is there.
func (d *disk) isRespelled(at string) (bool, error) {
	folding := d.folding(at)
	if folding == (filenames.Folding{}) {
		return false, nil
	}
	dir, name := path.Split(at)
	dir, removed, err := d.actual(strings.TrimSuffix(dir, "/"))
	if removed || err != nil {
		return false, err
	}
	listed, err := d.list(dir)
	return respelling(folding, name, listed) != name, err
}

// lookExactly examines a path, and finds nothing where the file system takes it for another one.
func (d *disk) lookExactly(at string) (found, error) {
	there, err := d.look(at)
	if err != nil || there.info == nil || d.folding(at) == (filenames.Folding{}) {
		return there, err
	}
	spelled, err := d.spelled(at)
	if spelled != at {
		return found{}, err
	}
	return there, err
}

// respelling returns the name of a list that a file system takes for a name, which may be that itself.
func respelling(folding filenames.Folding, name string, listed []string) string {
	if _, exact := slices.BinarySearch(listed, name); exact {
		return name
	}
	return cmp.Or(folding.Spelling(name, listed), name)
}

// spelled returns an existing path with all names as they are in their folders.
func (d *disk) spelled(at string) (string, error) {
	if at == "" {
		return "", nil
	}
	dir, name := path.Split(at)
	dir, err := d.spelled(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return "", err
	}
	listed, err := d.list(dir)
	if err != nil {
		return "", err
	}
	return path.Join(dir, respelling(d.folding(at), name, listed)), nil
}

// previewRemoval has a path look as if its file were removed, for the other names that lead to the file.
func (d *disk) previewRemoval(at string) error {
	if d.folding(at) == (filenames.Folding{}) {
		return nil
	}
	spelled, err := d.spelled(at)
	d.removed.add(spelled)
	d.above = d.above[:0]
	return err
}

// actual returns the path of what is at a path, and whether that is a file that a dry run would have removed.
func (d *disk) actual(at string) (spelled string, removed bool, err error) {
	if len(d.removed) == 0 {
		return at, false, nil
	}
	spelled, err = d.spelled(at)
	return spelled, d.removed[spelled], err
}

// mostListed is more than the depth of most folders: the members of an archive come in order.
const mostListed = 32

// list returns the names in a folder as they are spelled there, in order, without those that came since forget; none
// if there is no folder.
func (d *disk) list(folder string) ([]string, error) {
	if names, ok := d.listed[folder]; ok {
		return names, nil
	}
	file, err := os.Open(d.at(folder))
	if err != nil {
		return nil, notAbsent(err)
	}
	names, err := file.Readdirnames(-1)
	err = notAbsent(err)
	slices.Sort(names)
	if len(d.listed) >= mostListed {
		clear(d.listed)
	}
	d.listed[folder] = names
	return names, errors.Join(err, file.Close())
}
