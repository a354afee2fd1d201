package client_test

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestFormsTellTheEnd cuts archives of git, and of programs that pack them, at many places.
func TestFormsTellTheEnd(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	// Blocks of zeros are what a tar ends with, and its files may have them.
	repo.Commit("main", gittest.Regular("a", "text\n"), gittest.Regular("noise", gittest.Noise(70_000)),
		gittest.Regular("zeros", string(make([]byte, 20_000))), gittest.Regular("z", "end\n"))
	archives := map[string][]byte{
		"tar": repo.Archive("--format=tar", "main"), "tar.gz": repo.Archive("--format=tar.gz", "main"),
		"zip": repo.Archive("--format=zip", "main"), "zip of stored files": repo.Archive("--format=zip", "-0", "main"),
	}
	for name, command := range map[string][]string{
		"tar.xz": {"xz", "-c"}, "tar.xz of blocks": {"xz", "-c", "--block-size=10000"},
	} {
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Logf("ABSENT: %s, whose archives are not tried", command[0])
			continue
		}
		pack := exec.CommandContext(t.Context(), command[0], command[1:]...)
		pack.Stdin = bytes.NewReader(archives["tar"])
		packed, err := pack.Output()
		if err != nil {
			t.Fatal(err)
		}
		archives[name] = packed
	}
	cuts := 0
	for name, archive := range archives {
		if !client.HasEnd(archive) {
			t.Errorf("a whole %s of %d bytes is not known to be whole", name, len(archive))
		}
		size := len(archive)
		list := []int{0, 1, 5, 511, 512, 513, 1024, size - 1, size - 2, size - 12, size - 22, size - 512}
		for cut := 4096; cut < size; cut += 4096 {
			list = append(list, cut)
		}
		for _, cut := range list {
			if client.HasEnd(archive[:cut]) {
				t.Errorf("a %s of %d bytes passes for whole when it is cut after %d", name, size, cut)
			}
			cuts++
		}
		if client.HasEnd(append(bytes.Clone(archive), "more"...)) {
			t.Errorf("a %s with something behind it passes for whole", name)
		}
	}
	for _, other := range []string{"", "text\n", "PK", "\xfd7zXZ\x00", "\xfd7zXZ\x00YZ", "PK\x05\x06", "\x1f\x8b"} {
		if client.HasEnd([]byte(other)) {
			t.Errorf("%q passes for an archive", other)
		}
	}
	if cuts < 150 {
		t.Errorf("only %d cuts were tried", cuts)
	}
}
