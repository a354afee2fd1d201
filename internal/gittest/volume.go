package gittest

import (
	"os"
	"testing"
)

// Long skips a test under -short: one that takes seconds, runs the whole program, or needs
// other programs than git.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it is long")
	}
}

// Volume is how many cases a test makes: usual, or soak with REPOMCP_SOAK=1, as
// `make soak` has it. What kinds of cases there are does not depend on it.
func Volume(usual, soak int) int {
	if os.Getenv("REPOMCP_SOAK") == "1" {
		return soak
	}
	return usual
}

// Sample is the usual number, and an eighth of it under -short, at least 1. A long comparison
// with another program applies it to its cases, and to how many of them it must have seen.
func Sample(usual int) int {
	if testing.Short() {
		return max(1, usual/8)
	}
	return usual
}
