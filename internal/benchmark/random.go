package main

import "math/rand/v2"

// generator gives the same numbers on every machine, so that all measure the
// same repositories.
func generator(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 2532)) //nolint:gosec // repeatable is what it must be
}
