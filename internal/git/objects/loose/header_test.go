package loose

import (
	"bytes"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// FuzzHeader: there is one way to write each header, and only that one is
// accepted.
func FuzzHeader(f *testing.F) {
	for _, header := range []string{"blob 0", "tree 123", "commit 99999999999999999", "tag 01", "blob -1", "blob  1",
		"blob 1 ", "blo 1", "blob 999999999999999999999"} {
		f.Add([]byte(header))
	}
	f.Fuzz(func(t *testing.T, header []byte) {
		kind, size, err := parseHeader(header)
		if err != nil {
			return
		}
		if again := object.AppendHeader(nil, kind, size); !bytes.Equal(again, append(header, 0)) {
			t.Fatalf("%q is read as %q", header, again)
		}
		streamed, n, err := readHeader(bytes.NewReader(append(header, 0)))
		if len(header) < longestHeader && (err != nil || streamed != kind || n != size) {
			t.Fatalf("%q is streamed as %v %d, %v", header, streamed, n, err)
		}
	})
}
