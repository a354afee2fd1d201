package dotgit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/gittest"
)

// fullDisk takes no byte.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A full disk is not a damaged pack, and a damaged pack is not a full disk.
func TestAFullDiskIsNoDamage(t *testing.T) {
	t.Parallel()
	mirror := gittest.New(t)
	mirror.Commit("main", gittest.Regular("large", gittest.Noise(3<<20)))
	mirror.Git("repack", "-adq", "--depth=0")
	packs, err := filepath.Glob(filepath.Join(mirror.Dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	sound, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(sound)
	damaged[len(damaged)/2] ^= 1
	for name, c := range map[string]struct {
		content   []byte
		full      bool
		untrusted bool
	}{
		"sound": {sound, false, false}, "damaged": {damaged, false, true}, "no room": {sound, true, false},
	} {
		p, err := createPack(filepath.Join(t.TempDir(), "pack"))
		if err != nil {
			t.Fatal(err)
		}
		if c.full {
			p.out.Reset(fullDisk{})
		}
		in := &Incoming{pack: p, received: make(map[git.ID]object.Type)}
		err = in.readPack(bytes.NewReader(c.content))
		if errors.Is(err, ErrUntrusted) != c.untrusted || errors.Is(err, syscall.ENOSPC) != c.full ||
			(err == nil) != (name == "sound") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && len(in.received) < 3 {
			t.Errorf("%s: %d objects", name, len(in.received))
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
}
