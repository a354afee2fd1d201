package repos

import (
	"context"
	"errors"
)

// Verify reads the packs of all repositories once, one after the other, and
// logs those that differ from their checksums. Reading an object notices damage
// to that object only; this notices it before anybody asks.
func (c *Catalogue) Verify(ctx context.Context) {
	damaged := 0
	for _, name := range c.Names() {
		err := c.verify(ctx, name)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			damaged++
			c.logger.Error("a repository is damaged; run git fsck on the mirror", "repository", name, "error", err)
		}
	}
	c.logger.Info("all packs were compared with their checksums", "repositories", len(c.Names()), "damaged", damaged)
}

func (c *Catalogue) verify(ctx context.Context, name string) (err error) {
	repository, err := c.Get(name)
	if err != nil {
		return err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return domainError(snapshot.objects.Verify(ctx))
}
