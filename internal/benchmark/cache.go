package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// generatorVersion is raised whenever a generated repository changes.
const generatorVersion = 1

// prepare makes the repository in the cache, unless it is there already, and
// sets its root. A repository of the user's may have changed, and linking it
// costs little.
func (c *corpus) prepare(ctx context.Context, s settings, gitVersion string, progress func(string)) error {
	name := c.key
	if c.curve {
		name = fmt.Sprintf("%s-%d", c.key, c.files)
	}
	c.root = filepath.Join(s.dir, s.scale.name, name)
	stamp := filepath.Join(s.dir, s.scale.name, name+".stamp")
	made := fmt.Sprintf("generator %d, %s, %s\n%+v\n", generatorVersion, gitVersion, runtime.Version(), s.scale.sizes())
	if was, err := os.ReadFile(stamp); err == nil && string(was) == made && c.key != keyMirror {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	progress("generating " + c.title)
	if err := errors.Join(removeIfThere(stamp), os.RemoveAll(c.root), os.MkdirAll(c.root, 0o750)); err != nil {
		return err
	}
	if err := c.generate(ctx, c.dir()); err != nil {
		return fmt.Errorf("generating %s: %w", c.title, err)
	}
	// Last, so that what was left half made is made again.
	return os.WriteFile(stamp, []byte(made), 0o600) //nolint:gosec // the folder is the user's choice
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sizes is the part of a scale that the repositories depend on.
func (s scale) sizes() scale {
	s.rounds, s.longRounds, s.crowds = 0, 0, nil
	return s
}
