package archive

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/repomcp/repomcp/internal/repos"
)

// copyBufferBytes is how much of a file is in memory at once.
const copyBufferBytes = 64 << 10

// maxLinkBytes bounds a symbolic link's target: PATH_MAX of Linux, twice over.
const maxLinkBytes = 8 << 10

// walk writes a tree's entries in git's order: as read_tree in archive.c does,
// a folder's own entry comes when the first entry below it does, so that empty
// folders leave no trace.
type walk struct {
	source  Source
	limits  Limits
	tar     *tarWriter
	entries int64
	pending []entry // folders on the way down that have no entry yet
	buffer  []byte
}

func (p *Plan) writeTar(w io.Writer) error {
	k := &walk{
		source: p.source, limits: p.options.Limits, buffer: make([]byte, copyBufferBytes),
		tar: &tarWriter{w: w, mtime: p.commit.Committer.When.Unix()},
	}
	if err := k.tar.globalHeader(p.commit.ID); err != nil {
		return err
	}
	if err := k.prefix(p.options.Prefix, p.commit.Tree); err != nil {
		return err
	}
	if err := k.tree(p.root, p.options.Prefix, 1); err != nil {
		return err
	}
	return k.tar.trailer()
}

// prefix writes the entry of the folder that everything is put into. Like git
// it writes none for the folders above it.
func (k *walk) prefix(prefix string, root repos.ID) error {
	if !strings.HasSuffix(prefix, "/") {
		return nil
	}
	return k.write(entry{path: strings.TrimRight(prefix, "/") + "/", mode: repos.ModeDir, id: root})
}

func (k *walk) tree(entries []repos.TreeEntry, base string, depth int) error {
	if depth > k.limits.Depth {
		return fmt.Errorf("%w: folders are nested more than %d deep", ErrLimit, k.limits.Depth)
	}
	for _, e := range entries {
		path := base + e.Name
		if len(path) > k.limits.PathBytes {
			return fmt.Errorf("%w: a path has more than %d bytes", ErrLimit, k.limits.PathBytes)
		}
		var err error
		if e.Mode.IsDir() {
			err = k.folder(e, path+"/", depth)
		} else {
			err = k.leaf(e, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *walk) folder(e repos.TreeEntry, path string, depth int) error {
	entries, err := k.source.Tree(e.ID)
	if err != nil {
		return damaged(err)
	}
	k.pending = append(k.pending, entry{path: path, mode: e.Mode, id: e.ID})
	if err := k.tree(entries, path, depth+1); err != nil {
		return err
	}
	if n := len(k.pending); n > 0 && k.pending[n-1].path == path {
		k.pending = k.pending[:n-1]
	}
	return nil
}

// leaf writes what is no folder, and the folders above it that wait.
func (k *walk) leaf(e repos.TreeEntry, path string) error {
	for _, folder := range k.pending {
		if err := k.write(folder); err != nil {
			return err
		}
	}
	k.pending = k.pending[:0]
	switch {
	case e.Mode.IsGitlink():
		return k.write(entry{path: path + "/", mode: e.Mode, id: e.ID})
	case e.Mode.IsSymlink():
		return k.symlink(e, path)
	default:
		return k.file(e, path)
	}
}

func (k *walk) symlink(e repos.TreeEntry, path string) error {
	blob, err := k.source.Blob(e.ID)
	if err != nil {
		return damaged(err)
	}
	if blob.Size() > maxLinkBytes {
		return errors.Join(fmt.Errorf("%w: a symbolic link of %d bytes", ErrLimit, blob.Size()), blob.Close())
	}
	target, err := io.ReadAll(blob)
	if err = errors.Join(err, blob.Close()); err != nil {
		return err
	}
	return k.write(entry{path: path, mode: e.Mode, id: e.ID, link: string(target)})
}

func (k *walk) file(e repos.TreeEntry, path string) error {
	blob, err := k.source.Blob(e.ID)
	if err != nil {
		return damaged(err)
	}
	if k.tar.written+blob.Size() > k.limits.Bytes {
		return errors.Join(fmt.Errorf("%w: %d bytes", ErrLimit, k.limits.Bytes), blob.Close())
	}
	err = k.write(entry{path: path, mode: e.Mode, id: e.ID, size: blob.Size()})
	if err == nil {
		err = k.copy(blob)
	}
	return errors.Join(err, blob.Close())
}

// copy writes a file's content. A blob gives exactly its size or an error.
func (k *walk) copy(blob *repos.Blob) error {
	for {
		n, err := blob.Read(k.buffer)
		if n > 0 {
			if err := k.tar.write(k.buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return k.tar.pad()
		}
		if err != nil {
			return err
		}
	}
}

func (k *walk) write(e entry) error {
	k.entries++
	if k.entries > k.limits.Entries {
		return fmt.Errorf("%w: more than %d entries", ErrLimit, k.limits.Entries)
	}
	return k.tar.header(e)
}

// damaged turns "not found" into damage: a tree named the object, so its
// absence is no answer to the caller's question.
func damaged(err error) error {
	if errors.Is(err, repos.ErrNotFound) {
		return fmt.Errorf("%w: a tree names a missing object", repos.ErrCorrupt)
	}
	return err
}
