package checkout

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/client/unpack"
)

// errRespelled says that a whole archive has names that differ in case only from those in the folder, on a file system
// that takes both for one. The run has removed what earlier runs wrote under the other names, and the next attempt
// writes it under these.
var errRespelled = errors.New("names of the commit differ in case from those in the folder")

// isRespelled reports whether a member has to wait for the next attempt, because its name leads to something that is
// there under another one. A difference between commits has its deletions first, and needs no such look.
func (r *run) isRespelled(m unpack.Member) (is bool, err error) {
	switch {
	case r.respelled || !r.isWhole() || r.options.DryRun:
		return false, nil
	case r.misnamed != "" && below(m.Path, r.misnamed):
		return true, nil
	}
	recorded := m.Path
	if m.Kind == unpack.Folder {
		recorded += "/"
	}
	if old, err := r.old.seek(recorded); err != nil || old != nil {
		return false, err
	}
	if is, err = r.disk.isRespelled(m.Path); is {
		r.misnamed = m.Path
	}
	return is, err
}

// isRespelled reports whether the file system takes the last name of a path for another one, which is there.
func (d *disk) isRespelled(at string) (bool, error) {
	if !d.folds() {
		return false, nil
	}
	dir, name := path.Split(at)
	dir = strings.TrimSuffix(dir, "/")
	if p, err := d.folder(dir); err != nil || p != isFolder {
		return false, err
	}
	names, err := d.list(dir)
	if err != nil {
		return false, err
	}
	if _, exact := slices.BinarySearch(names, name); exact {
		return false, nil
	}
	_, err = os.Lstat(d.at(at))
	return err == nil, notAbsent(err)
}

// isFolding reports whether the file system of a folder takes names that differ in case for one.
func isFolding(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, strings.ToUpper(stateFolder)))
	return err == nil
}

// mostListed is more than the depth of most folders: the members of an archive come in order.
const mostListed = 32

// list returns the names in a folder at the first call, as they are spelled there, in order.
func (d *disk) list(folder string) ([]string, error) {
	if names, ok := d.listed[folder]; ok {
		return names, nil
	}
	file, err := os.Open(d.at(folder))
	if err != nil {
		return nil, err
	}
	names, err := file.Readdirnames(-1)
	slices.Sort(names)
	if len(d.listed) >= mostListed {
		clear(d.listed)
	}
	d.listed[folder] = names
	return names, errors.Join(err, file.Close())
}
