package zstd

import (
	"math/rand/v2"
)

// The inputs of the tests are made, not stored, from generators whose output
// is specified: golden digests stand on them.

// ramp is where the first block of full size begins.
const ramp = BlockSize - firstSize

// noise returns n bytes that do not compress.
func noise(seed byte, n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(p) // never fails
	return p
}

// prose returns n bytes that look like source code to a compressor: words drawn
// unevenly, lines, indents, and passages that come again.
func prose(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	words := make([]string, 2000)
	for i := range words {
		w := make([]byte, 2+r.IntN(9))
		for j := range w {
			w[j] = byte('a' + r.IntN(26)*r.IntN(26)/26)
		}
		words[i] = string(w)
	}
	p := make([]byte, 0, n+1<<12)
	for len(p) < n {
		if len(p) > 1<<12 && r.IntN(20) == 0 {
			from := max(len(p)-1<<r.IntN(17), 0)
			p = append(p, p[from:min(from+r.IntN(400), len(p))]...)
			continue
		}
		for range r.IntN(4) {
			p = append(p, '\t')
		}
		for range 1 + r.IntN(10) {
			p = append(p, words[r.IntN(1+r.IntN(len(words)))]...)
			p = append(p, " .,(){}=:"[r.IntN(9)])
		}
		p = append(p, '\n')
	}
	return p[:n]
}

// mixture returns about n bytes of all kinds, changing within blocks and at
// their boundaries.
func mixture(n int) []byte {
	var p []byte
	for i := byte(0); len(p) < n; i++ {
		p = append(p, prose(uint64(i), 150_000)...)
		p = append(p, noise(i, 90_000)...)
		p = append(p, make([]byte, 70_000)...)
		p = append(p, p[len(p)-30_000:]...)
	}
	return p
}
