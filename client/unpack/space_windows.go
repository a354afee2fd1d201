package unpack

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// freeSpace is the space within the user's quota. The root is named as it was opened.
func freeSpace(root *os.Root) (int64, bool) {
	name, err := windows.UTF16PtrFromString(root.Name())
	if err != nil {
		return 0, false
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, false
	}
	return int64(min(free, math.MaxInt64)), true
}
