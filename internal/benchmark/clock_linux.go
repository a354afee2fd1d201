package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// processorClock is the processor time of another process, threads that have
// ended included. /proc/PID/stat has it too, in steps of 10 ms, which is longer
// than a small archive takes.
func processorClock(pid int) (time.Duration, error) {
	// clock_getcpuclockid(3) makes the clock's id so (MAKE_PROCESS_CPUCLOCK in
	// include/linux/posix-timers.h): the id inverted, and 2 for scheduled time.
	id := int32(^pid<<3 | 2) //nolint:gosec // process ids have at most 22 bits
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0, fmt.Errorf("processor clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// ownClock is the processor time of this process.
func ownClock() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("processor clock: %w", err)
	}
	return time.Duration(t.Nano()), nil
}
