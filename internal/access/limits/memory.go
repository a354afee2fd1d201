package limits

import (
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// unknownMemory is assumed for a machine whose memory is unknown.
	unknownMemory = 2 << 30
	// base is what an idle process takes: the program itself, the lists of repositories and refs,
	// idle connections.
	base = 48 << 20
	// perWorker is what each worker holds, independent of the number of requests: an encoder of
	// zstd and room for a frame, or the garbage of xz for each block, and a block that archives
	// share.
	perWorker = 32 << 20
)

// ContainerMemory is the smallest limit of the process's control group and those above
// it; 0 without one.
func ContainerMemory() int64 {
	limit, err := memlimit.FromCgroup()
	if err != nil {
		return 0
	}
	return int64(limit)
}

// ProcessMemory is the default bound for the process: nine tenths of the limit of its control
// group, or half of the machine's memory.
func ProcessMemory() int64 {
	if limit := ContainerMemory(); limit > 0 {
		return limit / 10 * 9
	}
	if memory, err := memlimit.FromSystem(); err == nil {
		return int64(memory / 2)
	}
	return unknownMemory / 2
}

// Workers is how many workers fit into a quarter of the memory, at most one for each processor.
func Workers(memory int64, processors int) int {
	return int(max(min(memory/4/perWorker, int64(processors)), 1))
}

// Caches is the default size of all caches together: a quarter.
func Caches(memory int64) int64 { return memory / 4 }

// Requests is the memory that is left for requests. A fifth of it is garbage that the collector has
// not found yet. Something is left however large the caches are.
func Requests(memory, caches int64, workers int) int64 {
	return max((memory-base-caches-int64(workers)*perWorker)/5*4, memory/8)
}

// BoundProcess sets the bound of the process's memory. What the process has beyond it goes back to the system at once,
// because a program is about to need it: the runtime by itself gives back a little at a time.
func BoundProcess(bytes int64) {
	debug.SetMemoryLimit(bytes)
	had := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(had)
	if int64(had[0].Value.Uint64()-had[1].Value.Uint64()) > bytes {
		debug.FreeOSMemory()
	}
}
