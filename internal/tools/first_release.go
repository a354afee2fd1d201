package tools

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
)

// addFirst puts the answer to contains before a list of tags: the first release and the first tag.
func (v *visit) addFirst(ctx context.Context, data *refList, refs []git.Ref) error {
	byAge, err := v.sortByAge(ctx, refs)
	if err != nil || len(byAge) == 0 {
		return err
	}
	data.FirstTag = quote(byAge[0].Tag())
	release := "none"
	at := slices.IndexFunc(byAge, func(ref git.Ref) bool { return isRelease(ref.Tag()) })
	if at >= 0 {
		data.FirstRelease = quote(byAge[at].Tag())
		release = data.FirstRelease
	}
	v.content = "first release: " + release + ", first tag: " + data.FirstTag + "\n"
	return nil
}

// sortByAge returns tags oldest first, and in the order of their versions if they have the same
// date. A tag without a date, as old versions of git made, has that of its commit.
func (v *visit) sortByAge(ctx context.Context, refs []git.Ref) ([]git.Ref, error) {
	dates, err := history.RefDates(ctx, v.snapshot, v.Facts, refs)
	if err != nil {
		return nil, err
	}
	commits := make([]git.Ref, len(refs))
	for i, ref := range refs {
		commits[i] = git.Ref{Target: ref.Commit, Commit: ref.Commit}
	}
	commitDates, err := history.RefDates(ctx, v.snapshot, v.Facts, commits)
	if err != nil {
		return nil, err
	}
	of := make(map[string]uint64, len(refs))
	for i, ref := range refs {
		of[ref.Name] = cmp.Or(dates[i], commitDates[i])
	}
	sorted := slices.Clone(refs)
	slices.SortFunc(sorted, func(x, y git.Ref) int {
		return cmp.Or(cmp.Compare(of[x.Name], of[y.Name]), compareVersions(x.Tag(), y.Tag()))
	})
	return sorted, nil
}

// isRelease reports whether the name of a tag has a version number, and no mark of a pre-release
// behind it, such as in v2.29.0-rc0, 3.13.0b1 and 1.0-SNAPSHOT.
func isRelease(name string) bool {
	digit := strings.IndexAny(name, "0123456789")
	if digit < 0 {
		return false
	}
	return !slices.ContainsFunc(letterRuns.FindAllString(strings.ToLower(name[digit:]), -1), func(word string) bool {
		return slices.Contains(preReleases, word)
	})
}

var letterRuns = regexp.MustCompile(`[a-z]+`)

// preReleases are the words by which projects mark versions that are no releases, in lower case.
var preReleases = []string{
	"a", "alpha", "b", "beta", "c", "canary", "cr", "dev", "ea", "eap", "exp", "experimental", "m", "milestone",
	"nightly", "next", "pr", "pre", "prerelease", "preview", "rc", "snapshot", "test", "testing", "unstable",
}
