package repos

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/git"
)

// Verify reads the packs of all repositories once, one after the other, and logs those that differ
// from their checksums, and commit-graphs that differ from the commits: before a client asks for a
// damaged object.
func (c *Catalogue) Verify(ctx context.Context) {
	damaged := 0
	for _, name := range c.Names() {
		err := c.verify(ctx, name)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, git.ErrNotFound) {
			damaged++
			c.logger.Error("a repository is damaged; run git fsck on the mirror", "repository", name, "error", err)
		}
	}
	c.logger.Info("all packs were compared with their checksums", "repositories", len(c.Names()), "damaged", damaged)
}

func (c *Catalogue) verify(ctx context.Context, name string) (err error) {
	snapshot, err := c.Snapshot(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return snapshot.VerifyPacks(ctx)
}
