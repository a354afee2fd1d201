package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestParseStatus(t *testing.T) {
	status := "Name:\tgit\nVmRSS:\t    9000 kB\nRssAnon:\t    1024 kB\nRssFile:\t    2048 kB\nRssShmem:\t       4 kB\nVmData:\t 77 kB\n"
	if got, want := parseStatus([]byte(status)), (memory{anonymous: 1024 << 10, mapped: 2052 << 10}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := parseStatus([]byte("Name:\tgit\nState:\tZ (zombie)\n")); got != (memory{}) {
		t.Errorf("an ended process has %+v", got)
	}
}

func TestWatchSeesAPeakThatIsOver(t *testing.T) {
	watch := watchMemory([]int{os.Getpid()})
	held := make([]byte, 64<<20)
	for i := 0; i < len(held); i += 1 << 10 {
		held[i] = 1
	}
	time.Sleep(20 * samplePause)
	runtime.KeepAlive(held)
	debug.FreeOSMemory()
	// The kernel counts pages in batches for each thread.
	const slack = 1 << 20
	if peak := watch.stop(); peak.anonymous < 64<<20-slack || peak.mapped == 0 {
		t.Errorf("peak is %+v while 64 MiB were held", peak)
	}
}
