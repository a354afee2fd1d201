package unpack

import "cmp"

// Limits bound one archive. 0 means the default.
type Limits struct {
	// Entries counts members of any kind. Default: 4 million, eight times those of the largest
	// public repositories.
	Entries int64
	// Bytes are those of the plain tar. Default: 256 GiB; free disk space is usually less.
	Bytes int64
	// FileBytes are those of one file. Default: 32 GiB, more than services for git-lfs accept.
	FileBytes int64
	// Ratio is how many bytes of tar one compressed byte may make. Source code has 3 to 20,
	// generated data up to 100. Default: 200. It is not checked for the first 64 MiB of tar, which
	// are harmless.
	Ratio int64
	// Depth is the number of a path's components, each of which may hold a file descriptor.
	// Default: 200.
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

// The bounds of memory: 16 MiB of names, 8 MiB of small files, and at most 8 MiB of window for the
// decompressor.
const (
	// heldNames bounds the names of the members of open folders, and the symbolic links that wait
	// for the end. A name counts with its overhead.
	heldNames = 16 << 20
	nameCosts = 64 // bytes in a map
	// smallFile is the size up to which a worker writes a file from memory; larger files are
	// streamed.
	smallFile = 128 << 10
	// waiting is how many small files may be read ahead of the workers.
	waiting = 64
	// maxWorkers is more than any file system gains from; minWorkers is for slow ones: over a
	// network, or with a virus scanner.
	minWorkers, maxWorkers = 4, 16
	// maxWindow is the window of repomcp's zstd, and the minimum that RFC 8878 recommends to
	// support.
	maxWindow = 8 << 20
	// mostBarren is how many compressed bytes may produce no output, such as empty frames: more
	// than a decoder reads ahead.
	mostBarren = 16 << 20
	// ratioFrom is the size below which a decompression bomb is harmless.
	ratioFrom = 64 << 20
)
