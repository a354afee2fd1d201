//go:build amd64 && !purego

package sha1x8

import "golang.org/x/sys/cpu"

// available is for AVX-512 with registers of 256 bits, whose use does not slow the
// processor down as that of 512 does.
var available = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW

// blocks takes count blocks of 64 bytes from the beginning of each message into
// the states, of which each has the five words of eight messages.
//
//go:noescape
func blocks(state *[5][lanes]uint32, messages *[lanes]*byte, count int)
