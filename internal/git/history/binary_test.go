package history

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// editBinary changes places of a binary content, as edits of images and databases do: bytes are
// replaced, inserted, deleted, moved and repeated.
func editBinary(r *rand.Rand, content []byte) []byte {
	edited := slices.Clone(content)
	for range 1 + r.IntN(8) {
		from := r.IntN(len(edited) + 1)
		to := from + r.IntN(min(len(edited)-from, 1<<r.IntN(17))+1)
		piece := slices.Clone(edited[from:to])
		switch r.IntN(5) {
		case 0:
			for i := range piece {
				edited[from+i] ^= byte(r.IntN(4))
			}
		case 1:
			edited = slices.Delete(edited, from, to)
		case 2:
			edited = slices.Insert(edited, r.IntN(len(edited)+1), piece...)
		case 3:
			edited = slices.Insert(edited, from, []byte(gittest.SeededNoise(r.Uint64(), r.IntN(1000)))...)
		default:
			edited = slices.Insert(edited, from, bytes.Repeat(piece[:min(len(piece), 20)], r.IntN(200))...)
		}
	}
	return edited
}

// TestBinaryPatchesAreGits compares with git diff-tree --binary, and gives the patches to git apply.
func TestBinaryPatchesAreGits(t *testing.T) {
	gittest.Long(t)
	r := rand.New(rand.NewPCG(3, 4))
	repo := gittest.New(t)
	var before, after []gittest.File
	n := gittest.Volume(150, 3000)
	for i := range n {
		content := []byte("\x00" + gittest.SeededNoise(uint64(i), r.IntN(1<<r.IntN(18))))
		if i%3 == 0 { // equal blocks far and near
			content = bytes.Repeat(content[:min(len(content), 1+r.IntN(3000))], 1+r.IntN(200))
		}
		edited := editBinary(r, content)
		edited = append([]byte{0}, edited...)
		path := fmt.Sprintf("file %d", i)
		if i%10 != 1 {
			before = append(before, gittest.Regular(path, string(content)))
		}
		if i%10 != 2 {
			after = append(after, gittest.Regular(path, string(edited)))
		}
	}
	before = append(before, gittest.Regular("empty", ""), gittest.Regular("large", gittest.Noise(40_000)+"\x00"))
	after = append(after, gittest.Regular("empty", "\x00"), gittest.Regular("large", "\x00"+gittest.Noise(300_000)))
	first, second := repo.Commit("main", before...), repo.Commit("main", after...)
	pairs := []treePair{
		{id(t, repo.Git("rev-parse", first+"^{tree}")), id(t, repo.Git("rev-parse", second+"^{tree}"))},
		{id(t, repo.Git("rev-parse", second+"^{tree}")), id(t, repo.Git("rev-parse", first+"^{tree}"))},
	}
	compared := make(tally)
	compared.compareWithGit(t, repo, []view{
		{[]string{"-p", "-M", "--binary"}, CompareOptions{}, PatchOptions{Context: 3, Binary: true}, patches, nil},
	}, pairs)
	compared.need(t, map[string]int{"M": n, "A": n / 10, "D": n / 10})
}
