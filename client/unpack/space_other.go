//go:build !linux && !darwin && !windows

package unpack

import "os"

// freeSpace is not known here.
func freeSpace(*os.Root) (int64, bool) { return 0, false }
