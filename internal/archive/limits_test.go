package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestLimitsRefuseBeforeTheFirstByte(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a/b/c/d", strings.Repeat("x", 4096)), gittest.Regular("e", "1"))
	for name, limits := range map[string]archive.Limits{
		"entries": {Entries: 3}, "bytes": {Bytes: 4000}, "depth": {Depth: 3}, "path": {PathBytes: 6},
		"blob": {BlobBytes: 4095},
	} {
		if _, err := tryPlan(t, repo, "main", archive.Options{Format: archive.Tar, Limits: limits}); !errors.Is(err,
			archive.ErrLimit) {
			t.Errorf("%s: %v, want the limit", name, err)
		}
		// What is selected may be less, and is bounded while it is written.
		p := plan(t, repo, "main", archive.Options{Format: archive.Tar, Limits: limits, Paths: []string{"a"}})
		if err := p.WriteTo(t.Context(), io.Discard); !errors.Is(err, archive.ErrLimit) {
			t.Errorf("%s: %v, want the limit", name, err)
		}
		if _, err := p.Measure(t.Context()); !errors.Is(err, archive.ErrLimit) {
			t.Errorf("%s: measuring: %v, want the limit", name, err)
		}
		small := plan(t, repo, "main", archive.Options{Format: archive.Tar, Limits: limits, Paths: []string{"e"}})
		if name != "bytes" { // the last block alone has more
			if err := small.WriteTo(t.Context(), io.Discard); err != nil {
				t.Errorf("%s: a small part: %v", name, err)
			}
		}
	}
}

// TestWhatCannotBeMadeIsRefusedBeforeTheFirstByte has entries that no format can
// hold: a validator, without which nothing is sent, fails for them, unless they
// are left out.
func TestWhatCannotBeMadeIsRefusedBeforeTheFirstByte(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const longestLink = 8 << 10
	padding := strings.Repeat("$Format:%<(16384)%H$", 64<<20/(16384-20)+1)
	broken := map[string][]gittest.File{
		"link":       {gittest.Symlink("bad", strings.Repeat("t", longestLink+1))},
		"link below": {gittest.Symlink("d/bad", strings.Repeat("t/", longestLink))},
		"expansion":  {gittest.Regular("bad", padding), gittest.Regular(".gitattributes", "bad export-subst\n")},
		"large expansion": {gittest.Regular("bad", strings.Repeat("x", 32<<20+1)),
			gittest.Regular(".gitattributes", "bad export-subst\n")},
		"many expansions": {gittest.Regular("bad", strings.Repeat("$Format:%d$", 10)+padding),
			gittest.Regular(".gitattributes", "* export-subst\n")},
		"link of the most": {gittest.Symlink("fine", strings.Repeat("t", longestLink))},
		"some expansion": {gittest.Regular("fine", padding[:len(padding)/2]),
			gittest.Regular(".gitattributes", "fine export-subst\n")},
	}
	for number, name := range slices.Sorted(maps.Keys(broken)) {
		files := broken[name]
		repo := gittest.New(t)
		repo.Commit("main", append(files, gittest.Regular("other", "x"))...)
		left := gittest.Regular(".gitattributes", "bad export-ignore export-subst\n")
		repo.Commit("ignored",
			append(slices.DeleteFunc(slices.Clone(files), func(f gittest.File) bool { return f.Path == left.Path }),
				left)...)
		refused := files[0].Path != "fine"
		formats := archive.Formats()
		if gittest.Volume(1, 0) > 0 { // both kinds by turns: compression has no part in it
			formats = []archive.Format{[]archive.Format{archive.TarGz, archive.Zip}[number%2], archive.Manifest}
		}
		for _, format := range formats {
			options := archive.Options{Format: format}
			// A manifest has no contents, which expansions are a matter of.
			refusedAs := refused && (format != archive.Manifest || strings.HasPrefix(name, "link"))
			p := plan(t, repo, "main", options)
			if _, err := p.Validator(t.Context()); errors.Is(err, archive.ErrLimit) != refusedAs {
				t.Errorf("%s as %s: %v, refused should be %t", name, format, err, refusedAs)
			}
			if format == archive.Manifest {
				if err := p.WriteTo(t.Context(), io.Discard); errors.Is(err, archive.ErrLimit) != refusedAs {
					t.Errorf("%s: writing a manifest: %v, refused should be %t", name, err, refusedAs)
				}
			}
			for _, fine := range []struct {
				branch  string
				options archive.Options
			}{{"ignored", options}, {"main", archive.Options{Format: format, Exclude: []string{"bad", "d/bad"}}}, {
				"main", archive.Options{Format: format, Paths: []string{"other"}}}} {
				if _, err := plan(t, repo, fine.branch, fine.options).Validator(t.Context()); err != nil {
					t.Errorf("%s left out of %s, %+v: %v", name, fine.branch, fine.options, err)
				}
			}
		}
		err := plan(t, repo, "main", archive.Options{Format: archive.Zip}).WriteTo(t.Context(), io.Discard)
		if errors.Is(err, archive.ErrLimit) != refused {
			t.Errorf("%s: writing: %v", name, err)
		}
	}
}

// TestTreesOfEmptyTreesEnd archives a tree of 10^9 folders in ten objects, none
// of which has an entry.
func TestTreesOfEmptyTreesEnd(t *testing.T) {
	repo := gittest.New(t)
	tree := repo.GitInput(nil, "mktree")
	for range 9 {
		var listing strings.Builder
		for i := range 10 {
			fmt.Fprintf(&listing, "040000 tree %s\t%d\n", tree, i)
		}
		tree = repo.GitInput([]byte(listing.String()), "mktree")
	}
	repo.Git("update-ref", "refs/heads/main", repo.Git("commit-tree", "-m", "bomb", tree))
	if _, err := tryPlan(t, repo, "main", archive.Options{Format: archive.Tar}); !errors.Is(err, archive.ErrLimit) {
		t.Errorf("%v, want the limit before the first byte", err)
	}
	// A selection is not surveyed: it ends while it is written.
	selected := archive.Options{Format: archive.Tar, Paths: []string{"*x"}, Exclude: []string{"*y"}}
	selected.Limits.Entries = 5000
	if p, err := tryPlan(t, repo, "main", selected); !errors.Is(err, archive.ErrLimit) &&
		!errors.As(err, new(*archive.NoMatchError)) {
		t.Errorf("%v, %v: want a refusal", p, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	excluded := plan(t, repo, "main", archive.Options{Format: archive.TarGz, Exclude: []string{"*y"}})
	if err := excluded.WriteTo(ctx, io.Discard); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled WriteTo: %v", err)
	}
}
