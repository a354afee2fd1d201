package objects

import "os"

// Options are the limits of a Store. A zero field means its default.
type Options struct {
	// MaxDescriptors bounds the descriptors of packs and indexes over all
	// repositories, pinned and idle together. Each open [Object] may take one
	// or two more. When all are pinned, [Database.Snapshot] returns [ErrBusy].
	MaxDescriptors int
	// IndexBytes bounds the memory of pack indexes over all repositories.
	// Beyond it indexes are read from their files at every search: slower,
	// with the same answers.
	IndexBytes int64
	// BaseCacheBytes bounds the cache of delta bases shared by all readers.
	BaseCacheBytes int64
	// SharedBytes bounds the cache of whole objects that several readers of a
	// repository want at the same time.
	SharedBytes int64
	// ProofBytes bounds what is remembered of large objects that were compared
	// with their ids.
	ProofBytes int64
	// SpillBytes is the size from which the parts of a delta chain are kept in
	// temporary files instead of in memory.
	SpillBytes int64
	// MaxSpillBytes bounds the temporary files of all readers together.
	MaxSpillBytes int64
	// MaxDeltaDepth bounds the length of a delta chain.
	MaxDeltaDepth int
	// TempDir is where temporary files go; the system's directory when empty.
	TempDir string
}

// The defaults of [Options].
const (
	// DefaultMaxDescriptors is half of the smallest hard limit (4096) that is
	// common on servers, so that sockets keep the other half.
	DefaultMaxDescriptors = 2048
	// DefaultIndexBytes holds the indexes of about nine million objects.
	DefaultIndexBytes = 256 << 20
	// DefaultBaseCacheBytes is a sixth of git's core.deltaBaseCacheLimit, which
	// is for one process: 32 MiB made archives 2 percent faster, and a server that
	// much larger.
	DefaultBaseCacheBytes = 16 << 20
	// DefaultSharedBytes is many times what archives that are made at the same
	// time differ in their progress.
	DefaultSharedBytes = 16 << 20
	// DefaultProofBytes is enough for ten thousand files of a megabyte, or for
	// 64 GiB in large ones.
	DefaultProofBytes = 4 << 20
	// DefaultSpillBytes keeps the largest ordinary source files in memory;
	// resolving a delta may take three times as much for a moment.
	DefaultSpillBytes = 32 << 20
	// DefaultMaxSpillBytes is what a temporary directory can usually spare.
	DefaultMaxSpillBytes = 8 << 30
	// DefaultMaxDeltaDepth is the deepest chain that git writes: see --depth
	// in git-pack-objects(1).
	DefaultMaxDeltaDepth = 4095
)

func (o Options) withDefaults() Options {
	setDefault(&o.MaxDescriptors, DefaultMaxDescriptors)
	setDefault(&o.IndexBytes, DefaultIndexBytes)
	setDefault(&o.BaseCacheBytes, DefaultBaseCacheBytes)
	setDefault(&o.SharedBytes, DefaultSharedBytes)
	setDefault(&o.ProofBytes, DefaultProofBytes)
	setDefault(&o.SpillBytes, DefaultSpillBytes)
	setDefault(&o.MaxSpillBytes, DefaultMaxSpillBytes)
	setDefault(&o.MaxDeltaDepth, DefaultMaxDeltaDepth)
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	return o
}

func setDefault[T int | int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
