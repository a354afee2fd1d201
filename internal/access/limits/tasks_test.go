package limits

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestTasksAreThoseOfAllControlGroups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		groups string
		limits map[string]string // by the folder below the mount
		want   int
	}{
		"version 2":   {"0::/system.slice/repomcp.service\n", map[string]string{"system.slice/repomcp.service": "512"}, 512},
		"one above":   {"0::/pods/a\n", map[string]string{"pods/a": "max", "pods": "1024"}, 1024},
		"a namespace": {"0::/\n", map[string]string{"": "2048"}, 2048},
		"version 1": {"3:cpu:/x\n8:pids,misc:/x\n1:name=systemd:/y\n0::/z\n",
			map[string]string{"pids/x": "100", "cpu/x": "7", "y": "8"}, 100},
		"out of sight": {"8:pids:/docker/a\n", map[string]string{"pids": "300"}, 300},
		"no limit":     {"0::/a\n", map[string]string{"a": "max"}, math.MaxInt},
		"damaged":      {"0:\n\nx\n0::../..\n", map[string]string{"": "none"}, math.MaxInt},
		"nothing":      {"", nil, math.MaxInt},
	} {
		folder := t.TempDir()
		groups, mount := filepath.Join(folder, "cgroup"), filepath.Join(folder, "mount")
		write := func(name, text string) {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(groups, c.groups)
		for group, limit := range c.limits {
			write(filepath.Join(mount, group, "pids.max"), limit+"\n")
		}
		if got := tasks(groups, mount); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := tasks("/absent", "/absent"); got != math.MaxInt {
		t.Errorf("another system has %d", got)
	}
}
