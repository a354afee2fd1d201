package objects

import (
	"os"
	"time"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git/objects/pack"
)

// limits of a [Store].
type limits struct {
	// descriptors bounds those of packs and indexes over all repositories, pinned and idle
	// together. Each open [Object] may take one or two more. If all are pinned, [Database.Snapshot]
	// returns [ErrBusy].
	descriptors int
	// sharedBytes bounds the cache of whole objects that several readers of a repository want at
	// the same time.
	sharedBytes int64
	// proofBytes bounds the memory of proofs that large objects match their ids.
	proofBytes int64
	packs      pack.Limits
}

func defaultLimits(indexBytes int64) limits {
	return limits{
		// Half of the smallest common hard limit of servers (4096); the other half is for sockets.
		descriptors: 2048,
		// Many times the difference in progress of archives that are made at the same time.
		sharedBytes: 16 << 20,
		// Enough for ten thousand files of a megabyte, or for 64 GiB in large ones.
		proofBytes: 4 << 20,
		packs: pack.Limits{
			Indexes: pack.NewBudget(indexBytes),
			// A sixth of git's core.deltaBaseCacheLimit, which is for one process: 32 MiB made
			// archives 2 percent faster, and the server 16 MiB larger.
			BaseBytes: 16 << 20,
			// A download holds its object open until it ends, so hundreds are open at once. Opening
			// one briefly takes three times as much. The cache of bases keeps nothing larger
			// either.
			SpillBytes: 1 << 20,
			// The largest ordinary source files. Such an object is in memory only briefly, and its
			// reader has bounded it by a limit.
			WholeBytes: 32 << 20,
			// A temporary directory can usually spare this.
			SpillSpace: spill.NewSpace(os.TempDir(), 8<<30),
			// The deepest chain that git writes: see --depth in git-pack-objects(1).
			DeltaDepth: 4095,
			// Requests that wait for a first answer get the processors, and a command that ends
			// earlier saves the work.
			CheckDelay: time.Second,
		},
	}
}
