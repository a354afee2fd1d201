//go:build !linux

package main

import (
	"errors"
	"time"
)

func processorClock(int) (time.Duration, error) {
	return 0, errors.New("the benchmark runs on Linux only")
}
