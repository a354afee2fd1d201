package limits

import "github.com/KimMachineGun/automemlimit/memlimit"

const (
	// unknownMemory is taken for that of the machine where nothing tells it.
	unknownMemory = 2 << 30
	// base is what the process takes when it does nothing: the program itself, the
	// lists of repositories and refs, idle connections.
	base = 48 << 20
	// perWorker is what each worker holds however many requests there are: an encoder
	// of zstd and room for a frame, or what xz leaves for the collector with each
	// block, and a block that archives share.
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

// ProcessMemory is what the process should stay within where nobody says it: nine
// tenths of the limit of its control group, or half of the machine's memory.
func ProcessMemory() int64 {
	if limit := ContainerMemory(); limit > 0 {
		return limit / 10 * 9
	}
	if memory, err := memlimit.FromSystem(); err == nil {
		return int64(memory / 2)
	}
	return unknownMemory / 2
}

// Workers is for how many workers there is memory, of those that there are
// processors for: a quarter of it is theirs.
func Workers(memory int64, processors int) int {
	return int(max(min(memory/4/perWorker, int64(processors)), 1))
}

// Caches is what caches may take together where nobody says it: a quarter.
func Caches(memory int64) int64 { return memory / 4 }

// Requests is what is left for requests of a process's memory. A fifth of what they
// take is garbage that the collector has not found yet. However large the caches were
// made, something is left.
func Requests(memory, caches int64, workers int) int64 {
	return max((memory-base-caches-int64(workers)*perWorker)/5*4, memory/8)
}
