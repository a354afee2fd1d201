package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// repositoryName is what every repository is called below its root.
const repositoryName = "repo"

// generator is the script that makes the repositories.
//
//go:embed corpora.sh
var generator string

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
	if _, err := shell(ctx, nil, generator, c.key, filepath.Join(c.root, repositoryName+".git"), scale); err != nil {
		return fmt.Errorf("generating it: %w", err)
	}
	// Last, so that what was left half made is made again.
	return os.WriteFile(stamp, []byte(made), 0o600)
}
