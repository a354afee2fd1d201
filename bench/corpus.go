package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const (
	// repositoryName is what every repository is called below its root.
	repositoryName = "repo"
	// mirrorVariable names a repository of the user's own.
	mirrorVariable = "REPOMCP_BENCH_REPO"
)

// generator is the script that makes the repositories.
//
//go:embed corpora.sh
var generator string

// corpus is a repository to be measured.
type corpus struct {
	key, title string
	long       bool   // one round takes minutes
	root       string // the folder that holds the repository alone
}

func (c corpus) dir() string { return filepath.Join(c.root, repositoryName+".git") }

// corpora are all repositories.
func corpora() []corpus {
	list := []corpus{
		{key: "a", title: "(a) Go's source tree as one commit"},
		{key: "b", title: "(b) 500 commits over it, in deltas"},
		{key: "small", title: "small: some packages of Go with a history"},
		{key: "d", title: "(d) the small one as loose objects"},
		{key: "c1k", title: "1,000 small files"},
		{key: "c10k", title: "10,000 small files"},
		{key: "c", title: "(c) 100,000 small files"},
		{key: "sync", title: "(f) Go's source tree with its tests and documents, which is pushed to"},
		{key: "e", title: "(e) two files of 1 GiB, noise and text", long: true},
		{key: "noise", title: "one file of 64 MiB of noise"},
		{key: "h", title: "(h) 400,000 commits with a commit-graph", long: true},
		{key: "h-bare", title: "(h) without a commit-graph", long: true},
	}
	if os.Getenv(mirrorVariable) != "" {
		list = append(list, corpus{key: "mirror", title: "the mirror " + filepath.Base(os.Getenv(mirrorVariable))})
	}
	return list
}

// prepare makes the repository in the cache unless the same script made it.
func (b *bench) prepare(ctx context.Context, c *corpus) error {
	scale := ""
	if b.quick {
		scale = "quick"
	}
	c.root = filepath.Join(b.dir, "scale-"+scale, c.key)
	stamp, made := c.root+".stamp", generator+runtime.Version()
	if was, err := os.ReadFile(stamp); err == nil && string(was) == made && c.key != "mirror" {
		return nil
	}
	b.progress("generating %s", c.title)
	if err := errors.Join(os.RemoveAll(stamp), os.RemoveAll(c.root), os.MkdirAll(c.root, 0o750)); err != nil {
		return err
	}
	//nolint:gosec // our own script
	cmd := exec.CommandContext(ctx, "sh", "-c", generator, "corpora.sh", c.key, c.dir(), scale)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("generating it: %w: %s", err, out)
	}
	// Last, so that what was left half made is made again.
	return os.WriteFile(stamp, []byte(made), 0o600)
}
