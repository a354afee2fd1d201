package compresstest

import "math/rand/v2"

// The inputs are made by generators whose output is specified: golden digests depend on them.

// Noise returns n bytes that do not compress.
func Noise(seed byte, n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(p) // it never fails
	return p
}

// Prose returns n bytes that look like source code to a compressor: unevenly distributed words,
// lines, indents, and repeated passages.
func Prose(seed uint64, n int) []byte {
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

// Mixture returns at least n bytes of all kinds, changing within blocks and at their boundaries,
// with passages of the given length that repeat the preceding bytes.
func Mixture(n, repeated int) []byte {
	var p []byte
	for i := byte(0); len(p) < n; i++ {
		p = append(p, Prose(uint64(i), 150_000)...)
		p = append(p, Noise(i, 90_000)...)
		p = append(p, make([]byte, 70_000)...)
		p = append(p, p[len(p)-repeated:]...)
	}
	return p
}
