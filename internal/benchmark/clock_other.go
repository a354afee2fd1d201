//go:build !linux

package main

import (
	"errors"
	"time"
)

var errLinuxOnly = errors.New("the benchmark runs on Linux only")

func processorClock(int) (time.Duration, error) { return 0, errLinuxOnly }

func ownClock() (time.Duration, error) { return 0, errLinuxOnly }
