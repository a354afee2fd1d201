package uploadpack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/repomcp/repomcp/internal/git"
)

// config is the whole configuration of the repository in which git runs. Its bounds hold for one process: pack-objects
// reuses the mirror's deltas, and makes others only for objects that were not packed together. Two threads then take
// two thirds of the time of one.
const config = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	hooksPath = /dev/null
	fsmonitor = false
	multiPackIndex = %t
	bigFileThreshold = 16m
	deltaBaseCacheLimit = 16m
[gc]
	auto = 0
[maintenance]
	auto = false
[pack]
	threads = 2
	windowMemory = 16m
	deltaCacheSize = 16m
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
[uploadpackfilter]
	allow = false
[uploadpackfilter "blob:none"]
	allow = true
[uploadpackfilter "blob:limit"]
	allow = true
[uploadpackfilter "tree"]
	allow = true
[uploadpackfilter "object:type"]
	allow = true
[uploadpackfilter "combine"]
	allow = true
[lsrefs]
	unborn = %s
`

// nowhere is the HEAD of a repository whose own HEAD is hidden: git itself writes it into repositories whose refs are
// stored elsewhere.
const nowhere = "ref: refs/heads/.invalid"

// environment is the whole environment of a program. Its HOME is a folder without configuration.
func environment(program, home string) []string {
	return []string{
		"PATH=" + filepath.Dir(program), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
	}
}

// writeRepository makes a repository in an existing folder, in which the program finds what it may send.
func (p Program) writeRepository(folder string, t *git.Transfer) error {
	head, unborn := t.Head, "advertise"
	if head == "" {
		head, unborn = nowhere, "ignore"
	}
	failed := []error{
		os.Mkdir(filepath.Join(folder, "refs"), 0o700),
		write(folder, "config", fmt.Appendf(nil, config, t.MultiIndex <= p.multiIndex, unborn)),
		write(folder, "HEAD", []byte(head+"\n")),
		writeRefs(filepath.Join(folder, "packed-refs"), t.Refs),
	}
	if len(t.Shallow) > 0 {
		failed = append(failed, write(folder, "shallow", t.Shallow))
	}
	return errors.Join(append(failed, linkObjects(folder, t.Folders))...)
}

func write(folder, name string, content []byte) error {
	return os.WriteFile(filepath.Join(folder, name), content, 0o600)
}

// writeRefs writes packed-refs (git-pack-refs(1)) from refs in order. Its header says that all tags are peeled, so that
// git does not read the object of each ref.
func writeRefs(name string, refs []git.TransferRef) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	_, _ = io.WriteString(w, "# pack-refs with: peeled fully-peeled sorted \n") // Flush returns the error
	for _, ref := range refs {
		_, _ = io.WriteString(w, ref.ID.String()+" "+ref.Name+"\n")
		if !ref.Peeled.IsZero() {
			_, _ = io.WriteString(w, "^"+ref.Peeled.String()+"\n")
		}
	}
	return w.Flush()
}

// linkObjects links the mirror's folders of objects, the first as the repository's own and the others as its
// alternates.
func linkObjects(folder string, folders []git.TransferFolder) error {
	if len(folders) == 0 {
		return os.Mkdir(filepath.Join(folder, "objects"), 0o700)
	}
	var alternates []byte
	for i, source := range folders {
		name := filepath.Join(folder, "objects")
		if i > 0 {
			name = filepath.Join(folder, "alternate-"+strconv.Itoa(i))
			alternates = append(alternates, name+"\n"...)
		}
		if err := linkFolder(name, source); err != nil {
			return err
		}
	}
	if alternates == nil {
		return nil
	}
	return write(filepath.Join(folder, "objects", "info"), "alternates", alternates)
}

// linkFolder links a folder of objects as a whole or, since git would follow its list of alternates, the parts of it.
// In a folder that is linked as a whole git finds objects that another program moves meanwhile.
func linkFolder(name string, source git.TransferFolder) error {
	if source.Alone {
		return os.Symlink(source.Path, name)
	}
	if err := os.MkdirAll(filepath.Join(name, "info"), 0o700); err != nil {
		return err
	}
	for _, part := range source.Parts {
		if err := os.Symlink(filepath.Join(source.Path, part), filepath.Join(name, part)); err != nil {
			return err
		}
	}
	return nil
}
