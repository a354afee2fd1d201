package main

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/git"
)

// All caches of default size, with the indexes of packs, fit into their part of any memory.
func TestCachesFitTheMemory(t *testing.T) {
	t.Parallel()
	for _, memory := range []int64{64 << 20, 230 << 20, 460 << 20, 900 << 20, 2 << 30, 12 << 30} {
		var f mirrorFlags
		f.define(pflag.NewFlagSet("", pflag.ContinueOnError))
		f.fitCaches(memory)
		if most := limits.Caches(memory); f.caches() > most || f.caches() < min(most, 800<<20)*9/10 {
			t.Errorf("%d MiB: the caches take %d MiB, want nearly %d", memory>>20, f.caches()>>20, most>>20)
		}
		if f.packIndexes < memory/20 && f.packIndexes < git.DefaultPackIndexBytes {
			t.Errorf("%d MiB: the indexes of packs have %d MiB", memory>>20, f.packIndexes>>20)
		}
	}
}
