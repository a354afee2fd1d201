//go:build !unix

package dotgit

import "io/fs"

// hasStat says that the index knows a file by more than its size and time.
const hasStat = false

func (*Stat) setPlace(fs.FileInfo) {}
