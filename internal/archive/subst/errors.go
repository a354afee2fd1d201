package subst

import "fmt"

const (
	// maxExpansion bounds by how many bytes expansion lengthens a file: one
	// placeholder of ten bytes can ask for 16 KiB of padding, and one of five
	// repeats a message of megabytes.
	maxExpansion = 64 << 20
	// maxWork bounds the bytes that are looked at for one file, a few seconds
	// of work: a placeholder may read the whole file before it, or the whole
	// message, and add nothing.
	maxWork = 256 << 20
	// maxHistory bounds the commits that %(describe) visits, some 150 bytes
	// each; Linux has 1.4 million.
	maxHistory = 2 << 20
)

// FatalError is a placeholder for which git stops making the archive.
type FatalError struct {
	// Reason says what is wrong with it.
	Reason string
}

func (e *FatalError) Error() string { return "$Format:…$: " + e.Reason }

// LimitError is a file whose expansion is out of all proportion.
type LimitError struct {
	// What is bounded: "bytes added", "bytes examined" or "commits visited".
	What string
	// Limit is the bound.
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("$Format:…$: more than %d %s", e.Limit, e.What)
}
