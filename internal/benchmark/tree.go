package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// file is one file of a generated commit.
type file struct {
	path       string
	content    []byte
	executable bool
}

// goSources reads the source files of the Go distribution: all of GOROOT/src,
// or some folders of it.
func goSources(ctx context.Context, folders []string) ([]file, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	if len(folders) == 0 {
		folders = []string{"."}
	}
	var files []file
	for _, folder := range folders {
		if files, err = appendFiles(files, src, folder); err != nil {
			return nil, fmt.Errorf("sources of Go: %w", err)
		}
	}
	return files, nil
}

// appendFiles adds the regular files below a folder, by their paths from root.
func appendFiles(files []file, root, folder string) ([]file, error) {
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error { //nolint:gosec // the tree is the Go distribution's
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // the tree is the Go distribution's
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		files = append(files, file{filepath.ToSlash(name), content, info.Mode()&0o100 != 0})
		return err
	})
	return files, err
}
