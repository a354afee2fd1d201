package checkout

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/client"
)

// FuzzRecord: a record that is accepted is the same when it is written again.
func FuzzRecord(f *testing.F) {
	f.Add((record{path: "src/main.go", kind: executable, size: 12, mtime: 1_700_000_000}).appendTo(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimSuffix(text, []byte{0})
		r, err := parseRecord(text)
		if err != nil {
			if !errors.Is(err, ErrState) {
				t.Fatalf("not a typed error: %v", err)
			}
			return
		}
		again := r.appendTo(nil)
		if same, err := parseRecord(again[:len(again)-1]); err != nil || same != r {
			t.Fatalf("%+v, then %+v, %v", r, same, err)
		}
	})
}

// FuzzState: the file of a folder's state is read to an end, whatever is in it, and
// one of another version is refused.
func FuzzState(f *testing.F) {
	whole := append([]byte(`{"version":1,"commit":"x"}`), 0)
	whole = (record{path: "a", kind: plainFile}).appendTo(whole)
	f.Add(whole)
	f.Fuzz(func(t *testing.T, content []byte) {
		folder := &folder{state: filepath.Join(t.TempDir(), stateFolder)}
		if err := os.Mkdir(filepath.Dir(folder.path(stateName)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(folder.path(stateName), content, 0o600); err != nil {
			t.Fatal(err)
		}
		count := 0
		err := folder.each(func(record) error { count++; return nil })
		if err != nil && !errors.Is(err, ErrState) {
			t.Fatalf("not a typed error: %v", err)
		}
		if count > bytes.Count(content, []byte{0}) {
			t.Fatalf("%d records in %q", count, content)
		}
	})
}

// FuzzManifest: what is passed over of a manifest is JSON, to its last byte.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"head":"x","base":"y","deleted":["a%20b"],"more":{"x":[1,{"y":null}]}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		m := newManifest(bytes.NewReader(content))
		if err := m.eachMember(func(string) error { return m.pass() }); err != nil {
			if !errors.Is(err, client.ErrDamaged) {
				t.Fatalf("not a typed error: %v", err)
			}
			return
		}
		if end := m.json.InputOffset(); !json.Valid(content[:end]) {
			t.Fatalf("%q was read as a manifest", content[:end])
		}
	})
}
