package deflate_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/repomcp/repomcp/internal/git/deflate"
	"github.com/repomcp/repomcp/internal/gittest"
)

// contents are what the choices of the compressor depend on: repetitions near and far, frequent and
// rare bytes, short and long codes, blocks of each kind, and windows that are full.
func contents(r *rand.Rand) map[string]string {
	list := map[string]string{
		"nothing": "", "a byte": "a", "two": "ab", "three": "abc", "the same": strings.Repeat("a", 1000),
		"long runs": strings.Repeat("a", 1_000_000), "noise": gittest.SeededNoise(1, 200_000),
		"lines": gittest.Lines(1, 20_000), "text": gittest.Text(r, 30_000), "code": gittest.Text(r, 500),
		"far":    gittest.SeededNoise(2, 40_000) + gittest.SeededNoise(2, 40_000),
		"reach":  gittest.SeededNoise(3, 32_506) + gittest.SeededNoise(3, 32_506),
		"window": gittest.Lines(2, 10_000)[:65_536], "more": gittest.Lines(2, 10_000)[:65_537],
	}
	var steep strings.Builder // whose codes would be longer than 15 bits
	for i, n := 0, 1; i < 20; i, n = i+1, n*3/2+1 {
		steep.WriteString(strings.Repeat(string(rune('a'+i)), min(n, 30_000)))
	}
	shuffled := []byte(steep.String())
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	list["steep"] = string(shuffled[:min(len(shuffled), 16_000)])
	for i := range gittest.Volume(300, 5000) {
		list[fmt.Sprint("random ", i)] = random(r)
	}
	return list
}

// random mixes bytes of an alphabet, copies of earlier ones, and noise.
func random(r *rand.Rand) string {
	var b []byte
	letters := 1 + r.IntN(256)
	for size := 1 << r.IntN(19); len(b) < size; {
		switch n := 1 + r.IntN(1<<r.IntN(12)); r.IntN(3) {
		case 0:
			for range n {
				b = append(b, byte(r.IntN(letters)*r.IntN(letters)/letters))
			}
		case 1:
			for at := r.IntN(len(b) + 1); n > 0 && at < len(b); n-- {
				b = append(b, b[at])
				at++
			}
		default:
			b = append(b, bytes.Repeat([]byte{byte(r.IntN(letters))}, n)...)
		}
	}
	return string(b)
}

// TestBytesAreThoseOfGit compares with loose objects, which git writes with the same level as
// binary patches.
func TestBytesAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	repo := gittest.New(t)
	dir := t.TempDir()
	var names, paths []string
	list := contents(rand.New(rand.NewPCG(7, 7)))
	for name, content := range list {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		names, paths = append(names, name), append(paths, path)
	}
	ids := strings.Fields(repo.GitInput([]byte(strings.Join(paths, "\n")), "hash-object", "-w", "--stdin-paths"))
	compared := 0
	for i, name := range names {
		want, err := os.ReadFile(filepath.Join(repo.Dir, "objects", ids[i][:2], ids[i][2:]))
		if err != nil {
			t.Fatal(err)
		}
		content := fmt.Sprintf("blob %d\x00%s", len(list[name]), list[name])
		var got bytes.Buffer
		if err := deflate.Compress(&got, strings.NewReader(content)); err != nil {
			t.Fatal(name, err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s, %d bytes: %d bytes are not the %d of git", name, len(content), got.Len(), len(want))
		}
		compared++
	}
	if compared < 300 {
		t.Errorf("only %d contents were compared", compared)
	}
}

func TestContentIsWhatWasCompressed(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		content := random(r)
		var packed bytes.Buffer
		// The bytes do not depend on the pieces in which the content is read.
		if err := deflate.Compress(&packed, iotest.HalfReader(strings.NewReader(content))); err != nil {
			t.Fatal(err)
		}
		reader, err := zlib.NewReader(&packed)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(reader); err != nil || string(got) != content {
			t.Fatalf("%d bytes became %d, %v", len(content), len(got), err)
		}
	}
}

func TestFailuresAreReported(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	content := gittest.Noise(200_000)
	reader := io.MultiReader(strings.NewReader(content), iotest.ErrReader(broken))
	if err := deflate.Compress(io.Discard, reader); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	if err := deflate.Compress(failing{broken}, strings.NewReader(content)); !errors.Is(err, broken) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
