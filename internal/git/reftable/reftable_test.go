package reftable_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/reftable"
	"github.com/repomcp/repomcp/internal/gittest"
)

// tableOf returns the only table of a repository of gittest, and what git lists.
func tableOf(t testing.TB, name string) (content []byte, listed []string) {
	t.Helper()
	repo, listed := gittest.RefTables(t, filepath.Join(t.TempDir(), "repo.git"), name)
	tables, err := filepath.Glob(filepath.Join(repo.Dir, "reftable", "*.ref"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	content, err = os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	return content, listed
}

// from reads the refs of a table from a name on.
func from(content []byte, name string) (refs []reftable.Ref, err error) {
	table, err := reftable.Open(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	err = table.From(name, func(ref reftable.Ref) bool {
		refs = append(refs, ref)
		return true
	})
	return refs, err
}

func namesOf(refs []reftable.Ref) (names []string) {
	for _, ref := range refs {
		names = append(names, ref.Name)
	}
	return names
}

// shown is a ref as gittest lists it, but that git lists what a symbolic ref leads to.
func shown(ref reftable.Ref, targets map[string]string) string {
	id, peeled := hex.EncodeToString(ref.ID[:]), hex.EncodeToString(ref.Peeled[:])
	if strings.Trim(peeled, "0") == "" {
		peeled = ""
	}
	if ref.Target != "" {
		id = targets[ref.Target]
	}
	targets[ref.Name] = id
	return strings.Join([]string{ref.Name, id, peeled, ref.Target}, " ")
}

func TestTableHasWhatGitLists(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]int{"small": 6, "blocks": 63, "index": 303} {
		content, listed := tableOf(t, name)
		refs, err := from(content, "")
		if err != nil {
			t.Fatal(err)
		}
		targets := make(map[string]string)
		for _, ref := range refs {
			targets[ref.Name] = hex.EncodeToString(ref.ID[:])
		}
		var got []string
		for _, ref := range refs {
			got = append(got, shown(ref, targets))
		}
		if !slices.Equal(got, listed) || len(got) < least {
			t.Errorf("%s: %d refs, git lists %d:\n%s\n\n%s", name, len(got), len(listed),
				strings.Join(got, "\n"), strings.Join(listed, "\n"))
		}
	}
}

// A read from a name has what a read of all has from there on.
func TestReadBeginsAtAName(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, name := range []string{"small", "blocks", "index"} {
		content, _ := tableOf(t, name)
		refs, err := from(content, "")
		if err != nil {
			t.Fatal(err)
		}
		all := namesOf(refs)
		for _, name := range all {
			for _, start := range []string{name, name + "\x00", name[:len(name)-1], name + "\xff", name[:1]} {
				cases++
				at, _ := slices.BinarySearch(all, start)
				if got, err := from(content, start); err != nil || !slices.Equal(namesOf(got), all[at:]) {
					t.Fatalf("from %q: %v, %d names, want %d", start, err, len(got), len(all)-at)
				}
			}
		}
	}
	if cases < 1500 {
		t.Errorf("only %d cases", cases)
	}
}

func TestEmptyTableHasNoRefs(t *testing.T) {
	t.Parallel()
	header := append([]byte("REFT\x01"), make([]byte, 19)...)
	content := sealed(append(slices.Clone(header), append(slices.Clone(header), make([]byte, 44)...)...))
	for _, start := range []string{"", "refs/heads/main"} {
		if refs, err := from(content, start); err != nil || len(refs) > 0 {
			t.Errorf("%v, %v", refs, err)
		}
	}
}

// sealed gives a table the checksum of its footer.
func sealed(content []byte) []byte {
	footer := 68
	if len(content) > 4 && content[4] == 2 {
		footer = 72
	}
	if len(content) >= footer {
		end := len(content) - 4
		sum := crc32.ChecksumIEEE(content[len(content)-footer : end])
		binary.BigEndian.PutUint32(content[end:], sum)
	}
	return content
}

func TestOtherHashesAreUnsupported(t *testing.T) {
	t.Parallel()
	content, _ := tableOf(t, "sha256")
	if _, err := from(content, ""); !errors.Is(err, reftable.ErrUnsupported) {
		t.Error(err)
	}
	content, _ = tableOf(t, "small")
	content[4] = 3
	if _, err := from(content, ""); !errors.Is(err, reftable.ErrUnsupported) {
		t.Error(err)
	}
}

// No block has a checksum, but a table that is cut, or whose blocks are gone, is never a shorter list.
func TestCutTablesAreDamage(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, name := range []string{"small", "blocks", "index"} {
		content, _ := tableOf(t, name)
		for length := range content {
			cases++
			if refs, err := from(content[:length], ""); !errors.Is(err, reftable.ErrFormat) {
				t.Fatalf("%s, cut at %d: %v, %d refs", name, length, err, len(refs))
			}
		}
		all, _ := from(content, "")
		for at, kind := range content {
			if kind != 'r' {
				continue
			}
			for _, other := range []byte("xgio\x00") {
				cases++
				damaged := slices.Clone(content)
				damaged[at] = other
				refs, err := from(damaged, "")
				if err == nil && len(refs) != len(all) || err != nil && !errors.Is(err, reftable.ErrFormat) {
					t.Fatalf("%s, %q at %d: %v, %d refs", name, other, at, err, len(refs))
				}
			}
		}
	}
	if cases < 10_000 {
		t.Errorf("only %d cases", cases)
	}
}

// FuzzTable reads tables with a right footer. Whatever is in one, its names are in order, a read from a name has
// what the whole has, or there is an error of the format.
func FuzzTable(f *testing.F) {
	for _, name := range []string{"empty", "small", "blocks", "index", "sha256"} {
		content, _ := tableOf(f, name)
		f.Add(content, "refs/heads/main")
	}
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		content = sealed(slices.Clone(content))
		all, err := from(content, "")
		known := func(err error) bool {
			return err == nil || errors.Is(err, reftable.ErrFormat) || errors.Is(err, reftable.ErrUnsupported)
		}
		part, partErr := from(content, name)
		if !known(err) || !known(partErr) {
			t.Fatal(err, partErr)
		}
		for _, refs := range [][]reftable.Ref{all, part} {
			if names := namesOf(refs); !slices.IsSorted(names) || len(slices.Compact(names)) < len(refs) {
				t.Fatalf("not in order: %q", names)
			}
		}
		if len(part) > 0 && part[0].Name < name {
			t.Fatalf("%q is before %q", part[0].Name, name)
		}
	})
}
