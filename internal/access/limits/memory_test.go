package limits

import "testing"

// All parts of a memory are within it, for any machine.
func TestMemoryIsDivided(t *testing.T) {
	for _, memory := range []int64{128 << 20, 460 << 20, 1 << 30, 16 << 30, 1 << 40} {
		for _, processors := range []int{1, 2, 64} {
			workers := Workers(memory, processors)
			requests := Requests(memory, Caches(memory), workers)
			sum := base + Caches(memory) + int64(workers)*perWorker + requests
			if workers < 1 || workers > processors || requests < memory/8 || sum > memory*5/4 {
				t.Errorf("%d MiB, %d processors: %d workers, %d MiB for requests", memory>>20, processors, workers,
					requests>>20)
			}
		}
	}
	if requests := Requests(1<<30, 1<<40, 2); requests != 1<<27 {
		t.Errorf("beside caches that are too large: %d", requests)
	}
	if memory := ProcessMemory(); memory < 16<<20 {
		t.Errorf("the process has %d bytes", memory)
	}
}
