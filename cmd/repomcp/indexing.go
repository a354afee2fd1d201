package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/index"
)

// indexFlags are those of the index of code searches.
type indexFlags struct {
	dir    string
	bytes  int64
	memory int64
	chosen func() bool // whether memory was
}

func (f *indexFlags) define(set *pflag.FlagSet) {
	set.StringVar(&f.dir, "index-dir", "",
		"folder for the index of code searches, which servers may share; without it the index is in memory")
	set.Var(cli.NewSize(&f.bytes, index.DefaultDirBytes), "index-bytes", "limit of the files in --index-dir")
	set.Var(cli.NewSize(&f.memory, index.DefaultMemory+search.DefaultTextBytes), "index-memory",
		"memory for code searches: half of it for the index, half for texts")
	f.chosen = func() bool { return set.Changed("index-memory") }
}

// openIndex opens the index and the searcher that uses it.
func (m *mirrors) openIndex(f mirrorFlags, shared cache.Bucket) (err error) {
	m.index, err = index.New(index.Options{
		Repositories: m.catalogue.View, Scheduler: m.engine.Scheduler(), Dir: f.index.dir, DirBytes: f.index.bytes,
		Memory: f.index.memory / 2, FileBytes: search.DefaultFileBytes, Shared: shared, Logger: m.logger,
	})
	if err != nil {
		return cli.Misused(fmt.Errorf("--index-dir %s: %w", f.index.dir, withoutPath(err)))
	}
	m.searcher = search.New(m.catalogue, m.engine.Scheduler(), search.Options{
		CacheBytes: f.searchCache, Index: m.index, TextBytes: f.index.memory / 2,
	})
	return nil
}
