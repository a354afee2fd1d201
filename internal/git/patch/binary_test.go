package patch_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/patch"
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

// binaryFiles returns binary files before and after a change: edited, added, deleted, empty and large ones.
func binaryFiles(n int) (before, after []gittest.File) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		content := []byte("\x00" + gittest.SeededNoise(uint64(i), r.IntN(1<<r.IntN(18))))
		if i%3 == 0 { // equal blocks far and near
			content = bytes.Repeat(content[:min(len(content), 1+r.IntN(3000))], 1+r.IntN(200))
		}
		path := fmt.Sprintf("file %d", i)
		if i%10 != 1 {
			before = append(before, gittest.Regular(path, string(content)))
		}
		if i%10 != 2 {
			after = append(after, gittest.Regular(path, "\x00"+string(editBinary(r, content))))
		}
	}
	before = append(before, gittest.Regular("empty", ""), gittest.Regular("large", gittest.Noise(40_000)+"\x00"))
	after = append(after, gittest.Regular("empty", "\x00"), gittest.Regular("large", "\x00"+gittest.Noise(300_000)))
	return before, after
}

// TestGitTakesBinaryPatches compares with git but for the payloads, and has git make the files of both directions of
// the patch.
func TestGitTakesBinaryPatches(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	n := gittest.Volume(60, 3000)
	before, after := binaryFiles(n)
	first, second := repo.Commit("main", before...), repo.Commit("main", after...)
	o := newOracle(t, repo)
	mail := o.mails(first, second)
	if count := strings.Count(mail, "\nGIT binary patch\nliteral "); count < n*8/10 {
		t.Errorf("%d binary patches of %d files", count, n)
	}
	dir := filepath.Join(t.TempDir(), "worktree")
	run(t, repo.Dir, nil, nil, "worktree", "add", "--detach", dir, first)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"apply", "--index"}, second},
		{[]string{"apply", "--index", "--reverse"}, first},
		{[]string{"am"}, second},
	} {
		run(t, dir, nil, strings.NewReader(mail), c.args...)
		if got, want := run(t, dir, nil, nil, "write-tree"), repo.Git("rev-parse", c.want+"^{tree}"); got != want {
			t.Errorf("git %v made the tree %s, not %s", c.args, got, want)
		}
		if status := run(t, dir, nil, nil, "status", "--porcelain", "--untracked-files=no"); c.args[0] == "am" && status != "" {
			t.Errorf("after git am: %.1000s", status)
		}
	}
}

// TestBytesOfBinaryPatchesAreKept has a compressed payload, whose bytes depend on the library. If it fails after an
// update of the library, the constant version of plan.go has to change, so that no download is resumed with other
// bytes.
func TestBytesOfBinaryPatchesAreKept(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	base := repo.Commit("main", gittest.Regular("a", "text\n"))
	head := repo.Commit("main", gittest.Regular("a", "text\n"),
		gittest.Regular("b", "\x00"+gittest.Lines(1, 3000)+gittest.SeededNoise(1, 5000)))
	o := newOracle(t, repo)
	steps, err := patch.Range(t.Context(), o.snapshot, o.cache, patch.Mails, o.id(base), patch.Two, o.id(head))
	_, binary, _ := strings.Cut(o.write(patch.Mails, steps, err), "GIT binary patch\n")
	const want = "23cc5569e7d4a2bfd2d57fd2d071dc58a1ada4319a95a03540f1c7a58903a51e"
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(binary))); got != want {
		t.Errorf("the digest of the payload is %s, want %s", got, want)
	}
}
