package checkout_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/checkout"
	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// Entries behind the first two gigabytes have their positions in a table of their own.
func TestGitReadsLongOffsets(t *testing.T) {
	t.Parallel()
	pack := checkout.NewPack(spill.NewSpace(t.TempDir(), 1<<20))
	defer pack.Close()
	const length = 3 << 28
	var want []string
	offset := int64(12)
	for i := range 9 {
		pack.Add(checkout.Object{ID: git.ID{byte(90 - 10*i), 1}, CRC: uint32(i), Length: length})
		want = append([]string{fmt.Sprintf("%d %v (%08x)", offset, git.ID{byte(90 - 10*i), 1}, i)}, want...)
		offset += length
	}
	var index bytes.Buffer
	if n, err := pack.WriteIndex(&index); err != nil || n != int64(index.Len()) || n != pack.IndexSize() {
		t.Fatalf("%d of %d bytes, %v", index.Len(), n, err)
	}
	if got := gittest.New(t).GitInput(index.Bytes(), "show-index"); got != strings.Join(want, "\n") {
		t.Errorf("git reads\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
