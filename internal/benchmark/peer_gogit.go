package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// headOf opens a repository with go-git's storage and the defaults that its
// PlainOpen uses.
func headOf(dir string) (*object.Commit, error) {
	storage := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	head, err := storer.ResolveReference(storage, plumbing.HEAD)
	if err != nil {
		return nil, fmt.Errorf("HEAD: %w", err)
	}
	return object.GetCommit(storage, head.Hash())
}

// goGitFiles calls do for each file of HEAD.
func goGitFiles(dir string, do func(*object.File, time.Time) error) error {
	commit, err := headOf(dir)
	if err != nil {
		return err
	}
	files, err := commit.Files()
	if err != nil {
		return err
	}
	defer files.Close()
	return files.ForEach(func(f *object.File) error { return do(f, commit.Committer.When) })
}

// goGitArchive is the archive that a few lines over go-git and the standard
// library make.
func goGitArchive(dir string, stdout io.Writer) error {
	zw, err := gzip.NewWriterLevel(stdout, 6)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	err = goGitFiles(dir, func(f *object.File, when time.Time) error { return addFile(tw, f, when) })
	return errors.Join(err, tw.Close(), zw.Close())
}

func addFile(tw *tar.Writer, f *object.File, when time.Time) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: f.Size, Mode: 0o664, ModTime: when}
	switch f.Mode {
	case filemode.Symlink:
		target, err := f.Contents()
		if err != nil {
			return err
		}
		header.Typeflag, header.Linkname, header.Size, header.Mode = tar.TypeSymlink, strings.TrimSpace(target), 0, 0o777
		return tw.WriteHeader(header)
	case filemode.Executable:
		header.Mode = 0o775
	}
	if err := tw.WriteHeader(header); err != nil {
		return err
	}
	_, err := copyFile(tw, f)
	return err
}

func copyFile(w io.Writer, f *object.File) (int64, error) {
	r, err := f.Reader()
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(w, r)
	return n, errors.Join(err, r.Close())
}

func goGitReadBlobs(dir string) (t tally, err error) {
	err = goGitFiles(dir, func(f *object.File, _ time.Time) error {
		n, err := copyFile(io.Discard, f)
		t.blobs, t.bytes = t.blobs+1, t.bytes+n
		return err
	})
	return t, err
}
