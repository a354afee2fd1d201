package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Keys of the repositories, as the command line and the report name them.
const (
	keyTree    = "a"
	keyHistory = "b"
	keySmall   = "small"
	keyFiles   = "c"
	keyLoose   = "d"
	keyBig     = "e"
	keyCurve   = "curve"
	keyCrowd   = "crowd"
	keyMirror  = "mirror"
	keySearch  = "search"
)

// keys of all that can be selected.
func keys() []string {
	return []string{keyTree, keyHistory, keySmall, keyFiles, keyLoose, keyBig, keyCurve, keyCrowd, keySearch, keyMirror}
}

// corpus is a repository to be measured.
type corpus struct {
	key   string
	title string
	files int  // the number of files where it is what matters, for the curve
	curve bool // measured for the curve only
	long  bool // one round takes minutes
	blobs bool // reading its objects is measured too
	// generate makes the repository in dir.
	generate func(ctx context.Context, dir string) error
	root     string // the folder that holds repo.git alone
}

// dir is the repository.
func (c corpus) dir() string { return filepath.Join(c.root, repositoryName+".git") }

// repositoryName is what every repository is called below its root.
const repositoryName = "repo"

// corpora are the repositories that the issue asks for.
func corpora(s settings) []corpus {
	list := []corpus{
		{key: keyTree, title: "(a) Go's source tree as one commit", blobs: true, generate: func(ctx context.Context, dir string) error {
			return importGo(ctx, dir, s.scale.tree, 0)
		}},
		{key: keyHistory, title: fmt.Sprintf("(b) %d commits over it, in deltas", s.scale.commits), blobs: true, generate: func(ctx context.Context, dir string) error {
			return importGo(ctx, dir, s.scale.tree, s.scale.commits)
		}},
		{key: keySmall, title: "small: some packages of Go with a history", generate: func(ctx context.Context, dir string) error {
			return importGo(ctx, dir, s.scale.small, s.scale.smallCommits)
		}},
		{key: keyLoose, title: "(d) the small one as loose objects", generate: func(ctx context.Context, dir string) error {
			if err := importGo(ctx, dir, s.scale.small, s.scale.smallCommits); err != nil {
				return err
			}
			return unpack(ctx, dir)
		}},
	}
	for _, count := range s.scale.curve {
		c := filesCorpus(keyCurve, fmt.Sprintf("%d small files", count), count)
		c.curve = true
		list = append(list, c)
	}
	list = append(list, filesCorpus(keyFiles, fmt.Sprintf("(c) %d small files", s.scale.files), s.scale.files))
	list = append(list, corpus{key: keyBig, title: fmt.Sprintf("(e) two files of %s, noise and text", binarySize(s.scale.bigBytes)), long: true,
		generate: func(ctx context.Context, dir string) error { return importBigFiles(ctx, dir, s.scale.bigBytes) }})
	if s.mirror != "" {
		name := strings.TrimSuffix(filepath.Base(s.mirror), ".git")
		list = append(list, corpus{key: keyMirror, title: "the mirror " + name, blobs: true, generate: func(ctx context.Context, dir string) error {
			return cloneMirror(ctx, dir, s.mirror)
		}})
	}
	return list
}

func filesCorpus(key, title string, count int) corpus {
	return corpus{key: key, title: title, files: count, blobs: key == keyFiles, generate: func(ctx context.Context, dir string) error {
		return imported(ctx, dir, func(i *importer) error {
			writeSmallFiles(i, smallFiles(count))
			return nil
		})
	}}
}

func importGo(ctx context.Context, dir string, folders []string, commits int) error {
	files, err := goSources(ctx, folders)
	if err != nil {
		return err
	}
	return imported(ctx, dir, func(i *importer) error {
		newHistory(files, 4).write(i, commits)
		return nil
	})
}

// imported makes a repository of what write imports, packed plainly.
func imported(ctx context.Context, dir string, write func(*importer) error) error {
	if err := importInto(ctx, dir, write); err != nil {
		return err
	}
	return repack(ctx, dir)
}

func importInto(ctx context.Context, dir string, write func(*importer) error) error {
	if err := initRepository(ctx, dir); err != nil {
		return err
	}
	i, err := startImport(ctx, dir)
	if err != nil {
		return err
	}
	return errors.Join(write(i), i.close())
}

// importBigFiles leaves the pack as the import wrote it: it has no deltas, and
// packing it again would only copy it.
func importBigFiles(ctx context.Context, dir string, size int64) error {
	return importInto(ctx, dir, func(i *importer) error { return writeBigFiles(i, size) })
}

// cloneMirror links the mirror's packs, as they are, into a folder where the
// repository is alone: its neighbours are not to be measured.
func cloneMirror(ctx context.Context, dir, mirror string) error {
	_, err := gitOutput(ctx, "", "clone", "--quiet", "--mirror", "--local", mirror, dir)
	return err
}
