package repos

import (
	"context"
	"errors"
	"fmt"
)

// Verify reads the packs of all repositories once, one after the other, and
// logs those that differ from their checksums, and commit-graphs that differ from
// the commits. Reading an object notices damage
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
	snapshot, err := c.Snapshot(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return snapshot.verifyPacks(ctx)
}

// verifyGraph compares all of the commit-graph with the commits. What was pruned
// since it was written is no contradiction: nothing leads there.
func (s *Snapshot) verifyGraph(ctx context.Context) error {
	graph := s.CommitGraph()
	if graph == nil {
		return nil
	}
	for at := range graph.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if sure, err := s.confirmed(graph, []ID{graph.ID(at)}); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		} else if err == nil && !sure {
			return fmt.Errorf("the commit-graph: %w: %w", ErrCorrupt, errContradicted)
		}
	}
	return nil
}
