package main

import "time"

// usage is what one measurement found: of one archive, or of several written
// at once.
type usage struct {
	wall  time.Duration // until the last process has ended, or the last byte has come
	cpu   time.Duration // user and system time of all processes
	first time.Duration // until the first byte; of several, of the latest
	bytes int64
	peak  memory
}

// memory is resident memory in bytes. The peaks of both kinds need not fall on
// one moment.
type memory struct {
	anonymous int64
	mapped    int64
}

// Quantities of a usage, as numbers for the arithmetic.
func wallOf(u usage) float64      { return u.wall.Seconds() }
func cpuOf(u usage) float64       { return u.cpu.Seconds() }
func firstOf(u usage) float64     { return u.first.Seconds() }
func bytesOf(u usage) float64     { return float64(u.bytes) }
func anonymousOf(u usage) float64 { return float64(u.peak.anonymous) }
func mappedOf(u usage) float64    { return float64(u.peak.mapped) }
