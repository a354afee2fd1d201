package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

const (
	// samplePause is the least time between two looks at a process.
	samplePause = 3 * time.Millisecond
	// sampleShare is how many times longer than a look the pause after it is:
	// looking at fifty processes must not take the processor from them.
	sampleShare = 20
)

// memoryWatch samples the memory of processes until it is stopped. All of them
// are summed up at each moment, and the greatest sums are kept.
type memoryWatch struct {
	end  chan struct{}
	peak chan memory
}

func watchMemory(pids []int) *memoryWatch {
	w := &memoryWatch{end: make(chan struct{}), peak: make(chan memory)}
	go w.sample(pids)
	return w
}

func (w *memoryWatch) sample(pids []int) {
	var peak memory
	buffer := make([]byte, 4<<10)
	for ended := false; !ended; {
		start := time.Now()
		var sum memory
		for _, pid := range pids {
			m := residentMemory(pid, buffer)
			sum.anonymous, sum.mapped = sum.anonymous+m.anonymous, sum.mapped+m.mapped
		}
		peak.anonymous, peak.mapped = max(peak.anonymous, sum.anonymous), max(peak.mapped, sum.mapped)
		select {
		case <-w.end:
			ended = true
		case <-time.After(max(samplePause, sampleShare*time.Since(start))):
		}
	}
	w.peak <- peak
}

// stop ends the watch and returns the peaks.
func (w *memoryWatch) stop() memory {
	close(w.end)
	return <-w.peak
}

// residentMemory is what a process has now; nothing once it has ended. The
// file status, unlike smaps_rollup, is read without walking through the
// process's page tables, so that looking does not slow it down.
func residentMemory(pid int, buffer []byte) memory {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}
	}
	n, _ := file.Read(buffer) // an ended process reads as empty
	_ = file.Close()
	return parseStatus(buffer[:n])
}

// parseStatus finds the figures of /proc/PID/status (proc_pid_status(5)).
func parseStatus(status []byte) memory {
	return memory{
		anonymous: kibibytes(status, "\nRssAnon:"),
		mapped:    kibibytes(status, "\nRssFile:") + kibibytes(status, "\nRssShmem:"),
	}
}

func kibibytes(status []byte, name string) int64 {
	_, rest, _ := bytes.Cut(status, []byte(name))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	value, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0 // a kernel thread or an ended process has no such line
	}
	return value << 10
}
