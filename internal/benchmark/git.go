package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
)

// gitOutput runs git and returns its standard output without the final newline.
func gitOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := stage{"git", args}.command(ctx)
	var stdout bytes.Buffer
	said := &complaint{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, said)
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// initRepository makes an empty bare repository.
func initRepository(ctx context.Context, dir string) error {
	_, err := gitOutput(ctx, "", "init", "--quiet", "--bare", "--initial-branch=main", "--template=", dir)
	return err
}

// repack packs as most mirrors are packed: git's own defaults for window,
// depth and compression.
func repack(ctx context.Context, dir string) error {
	_, err := gitOutput(ctx, dir, "repack", "-adfq")
	return err
}

// unpack turns the only pack of a repository into loose objects.
func unpack(ctx context.Context, dir string) error {
	packs, err := os.ReadDir(dir + "/objects/pack")
	if err != nil {
		return err
	}
	// Objects that a pack has already are not unpacked: it must be elsewhere.
	aside := dir + "/aside"
	if err := os.Rename(dir+"/objects/pack", aside); err != nil {
		return err
	}
	if err := os.Mkdir(dir+"/objects/pack", 0o750); err != nil {
		return err
	}
	for _, entry := range packs {
		if !strings.HasSuffix(entry.Name(), ".pack") {
			continue
		}
		if err := unpackFile(ctx, dir, aside+"/"+entry.Name()); err != nil {
			return err
		}
	}
	return os.RemoveAll(aside)
}

func unpackFile(ctx context.Context, dir, pack string) error {
	file, err := os.Open(pack)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read from
	cmd, said := stage{"git", []string{"unpack-objects", "-q"}}.command(ctx), &complaint{}
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, file, said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git unpack-objects: %w: %s", err, said)
	}
	return nil
}
