package doctor

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// watchLimit is how many folders the kernel watches for a user (inotify(7)).
func watchLimit() int64 { return numberIn("/proc/sys/fs/inotify/max_user_watches") }

const cgroups = "/sys/fs/cgroup"

// memoryLimit is the smallest limit of the process's control group and those above it
// (cgroups(7)); 0 without one.
func memoryLimit() (limit int64) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		dir, file := cgroups, "memory.max"
		switch fields[1] {
		case "": // version 2
		case "memory":
			dir, file = cgroups+"/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			if n := numberIn(path.Join(dir, group, file)); n > 0 && n < unlimited && (limit == 0 || n < limit) {
				limit = n
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// unlimited is less than what version 1 has for no limit.
const unlimited = 1 << 60

// numberIn is 0 for a file that is not there, or says "max".
func numberIn(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
