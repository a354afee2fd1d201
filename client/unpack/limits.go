package unpack

import "cmp"

// Limits bound what one archive may take. 0 means the default.
type Limits struct {
	// Entries counts members of any kind. Default: 4 million, eight times those of
	// the largest public repositories.
	Entries int64
	// Bytes are those of the plain tar. Default: 256 GiB; free space ends most
	// runs before.
	Bytes int64
	// FileBytes are those of one file. Default: 32 GiB, beyond what services for
	// large files of git take.
	FileBytes int64
	// Ratio is how many bytes of tar one compressed byte may stand for. Source
	// code has 3 to 20, generated data up to 100. Default: 200. It is not looked
	// at before 64 MiB of tar, which harm nobody.
	Ratio int64
	// Depth is the number of a path's components, each of which may hold a file
	// descriptor. Default: 200.
	Depth int64
	// PathBytes is the length of a path. Default: 4096, Linux' PATH_MAX.
	PathBytes int64
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Entries:   cmp.Or(l.Entries, 4_000_000),
		Bytes:     cmp.Or(l.Bytes, 256<<30),
		FileBytes: cmp.Or(l.FileBytes, 32<<30),
		Ratio:     cmp.Or(l.Ratio, 200),
		Depth:     cmp.Or(l.Depth, 200),
		PathBytes: cmp.Or(l.PathBytes, 4096),
	}
}

// The bounds of memory: 16 MiB of names, 8 MiB of small files, and what the
// decompressor needs, 8 MiB of window at most.
const (
	// heldNames bounds the names of the members of the folders that are open, and
	// the symbolic links that wait for the end. A name counts with its costs.
	heldNames = 16 << 20
	nameCosts = 64 // bytes in a map
	// smallFile is written by a worker, from memory; what is larger flows.
	smallFile = 128 << 10
	// waiting is how many small files may be read ahead of the workers.
	waiting = 64
	// maxWorkers is beyond where a file system gains, minWorkers for those that
	// answer slowly: over a network, or with a scanner of viruses.
	minWorkers, maxWorkers = 4, 16
	// maxWindow is the window of repomcp's zstd, and what RFC 8878 advises to
	// support.
	maxWindow = 8 << 20
	// mostBarren is how many compressed bytes may come of which nothing is made, such as
	// empty frames: more than a decoder reads ahead.
	mostBarren = 16 << 20
	// ratioFrom is the size below which a bomb is none.
	ratioFrom = 64 << 20
)
