package zstd

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/repomcp/repomcp/internal/gittest"
)

func newPatchRandom() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

const patchTexts = 40

// patchPairs are old and new contents of many kinds, and of the largest size.
func patchPairs() (pairs [][2]string) {
	r := newPatchRandom()
	for range gittest.Volume(patchTexts, 10*patchTexts) {
		text := gittest.Text(r, 20+r.IntN(2000))
		pairs = append(pairs, [2]string{text, gittest.Edit(r, text, 1+r.IntN(9))})
	}
	noise := gittest.Noise(2 * MaxPatched)
	return append(pairs,
		[2]string{noise[:MaxPatched], noise[MaxPatched:]},
		[2]string{noise[:MaxPatched], noise[1:MaxPatched] + "x"},
		[2]string{noise[:MaxPatched], noise[MaxPatched/2 : MaxPatched/2*3]}, // all of it is at the end of the old one
		[2]string{noise[:MaxPatched/2], noise[MaxPatched/2:MaxPatched] + noise[:MaxPatched/2]},
		[2]string{strings.Repeat("a", MaxPatched), strings.Repeat("a", MaxPatched-1) + "b"},
		[2]string{noise[:1000], strings.Repeat(noise[:1000], 1000)},
		[2]string{"a", "b"}, [2]string{"", "b"}, [2]string{"1234567", "12345678"}, [2]string{noise[:300], ""},
	)
}

func patchOf(t testing.TB, p *Patcher, pair [2]string, quick bool) []byte {
	t.Helper()
	patch, err := p.Append([]byte("before "), []byte(pair[0]), []byte(pair[1]), quick)
	if err != nil || !bytes.HasPrefix(patch, []byte("before ")) {
		t.Fatal(err)
	}
	return patch[len("before "):]
}

func TestPatchesMakeTheNewContent(t *testing.T) {
	var used Patcher
	for i, pair := range patchPairs() {
		for _, quick := range []bool{false, true} {
			patch := patchOf(t, &used, pair, quick)
			decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, []byte(pair[0])),
				zstd.WithDecoderMaxMemory(MaxPatched))
			if err != nil {
				t.Fatal(err)
			}
			content, err := decoder.DecodeAll(patch, nil)
			decoder.Close()
			if err != nil || string(content) != pair[1] {
				t.Errorf("pair %d, quick %v: %d bytes, want %d: %v", i, quick, len(content), len(pair[1]), err)
			}
			if i%5 == 0 && !bytes.Equal(patch, patchOf(t, new(Patcher), pair, quick)) {
				t.Errorf("pair %d, quick %v: the patch depends on those before it", i, quick)
			}
		}
	}
}

// The command is another implementation of RFC 8878.
func TestTheCommandTakesPatches(t *testing.T) {
	gittest.Long(t)
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("there is no zstd command")
	}
	dir, compared := t.TempDir(), 0
	for i, pair := range patchPairs() {
		if pair[0] == "" || pair[1] == "" || i%4 != 0 && len(pair[0]) < MaxPatched/2 {
			continue
		}
		patch := patchOf(t, new(Patcher), pair, i%8 == 0)
		for name, content := range map[string]string{"old": pair[0], "new.zst": string(patch)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		decode := exec.CommandContext(t.Context(), "zstd", "-q", "-d", "-c", "--long=31", "--patch-from=old", "new.zst")
		decode.Dir = dir
		content, err := decode.Output()
		if err != nil || string(content) != pair[1] {
			t.Errorf("pair %d: %d bytes, want %d: %v", i, len(content), len(pair[1]), err)
		}
		compared++
	}
	if compared < 15 {
		t.Errorf("%d were compared", compared)
	}
}

func TestAChangedLineIsFewBytes(t *testing.T) {
	var lines strings.Builder
	for r := newPatchRandom(); lines.Len() < 500_000; {
		fmt.Fprintf(&lines, "\treturn value%d + other%d\n", r.IntN(9999), r.IntN(9999))
	}
	text := lines.String()
	changed := text[:250_000] + "one more line\n" + text[250_000:]
	for quick, most := range map[bool]int{false: 300, true: 300} {
		if patch := patchOf(t, new(Patcher), [2]string{text, changed}, quick); len(patch) > most {
			t.Errorf("quick %v: %d bytes", quick, len(patch))
		}
	}
}

// TestPatchBytesAreAPromise guards them as golden digests do those of streams: change
// PatchVersion with them.
func TestPatchBytesAreAPromise(t *testing.T) {
	sum := sha256.New()
	pairs := patchPairs()[:patchTexts]
	var p Patcher
	for _, pair := range pairs {
		sum.Write(patchOf(t, &p, pair, false))
		sum.Write(patchOf(t, &p, pair, true))
	}
	const want = "1 cdd31f5658c5e51a92a245e028284dc9a9f29a8017a7120081ff9777c688e7c3"
	if got := PatchVersion + " " + hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("version and digest\n got %s\nwant %s", got, want)
	}
}
