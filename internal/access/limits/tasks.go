package limits

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Tasks is how many threads and processes may run together in the process's control group, or in one of those above
// it (cgroups(7)); [math.MaxInt] without a limit. The runtime gives up where it gets no thread, and every request that
// waits for a disk has one.
func Tasks() int { return tasks("/proc/self/cgroup", "/sys/fs/cgroup") }

func tasks(groups, mount string) int {
	least := math.MaxInt
	text, _ := os.ReadFile(groups) // absent on other systems
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), ":", 3) // the hierarchy, its controllers, and the group
		folder := mount
		switch {
		case len(fields) != 3:
			continue
		case slices.Contains(strings.Split(fields[1], ","), "pids"):
			folder = filepath.Join(mount, "pids") // version 1
		case fields[1] != "":
			continue
		}
		for at := path.Join("/", fields[2]); ; at = path.Dir(at) {
			//nolint:gosec // the kernel's names
			limit, _ := os.ReadFile(filepath.Join(folder, at, "pids.max")) // the group may be out of sight
			if n, err := strconv.Atoi(string(bytes.TrimSpace(limit))); err == nil {
				least = min(least, n)
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}
