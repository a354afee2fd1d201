package git

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// A disk that fails in the middle of a line is the reason of the failure, and the part of the line no ref.
func TestPackedRefsOnADiskThatFails(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("ab", 20)
	content := "# pack-refs with: peeled fully-peeled sorted \n" + id + " refs/heads/main\n" + id + " refs/tags/v1\n^" + id + "\n"
	listed := 0
	for cut := range content {
		err := scanPackedRefs(io.MultiReader(strings.NewReader(content[:cut]), iotest.ErrReader(syscall.EIO)), nil,
			func(name string, _ rawRef) bool {
				if listed++; !strings.Contains(content, " "+name+"\n") {
					t.Errorf("cut at %d there is a ref %s", cut, name)
				}
				return true
			})
		if !errors.Is(err, syscall.EIO) || !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		_, err = packedIn(content[:cut])
		if whole := cut == 0 || content[cut-1] == '\n'; whole != (err == nil) {
			t.Errorf("a file of %d bytes: %v", cut, err)
		}
	}
	if listed == 0 {
		t.Error("no ref was listed")
	}
}
