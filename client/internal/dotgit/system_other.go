//go:build !unix

package dotgit

import "io/fs"

// hasModes says that files have a bit by which they can be executed, and hasStat that the index
// knows a file by more than its size and time.
const hasModes, hasStat = false, false

func (*Stat) setPlace(fs.FileInfo) {}
