package tools

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// sameRefs returns the names of branches and tags that say the same as a name that does not exist:
// with another case, without the name of a remote, or with another way to write the version. A name
// that is only spelt alike may be of something else, and is not among them.
func (v *visit) sameRefs(name string, choose func([]git.Ref) []git.Ref) []string {
	wanted := withoutRemote(name)
	if strings.HasPrefix(wanted, "refs/") {
		return nil
	}
	refs, _ := v.snapshot.Refs() // on errors there are no candidates
	repository := strings.ToLower(path.Base(v.name()))
	version := versionOf(wanted, repository)
	var classes [3][]string
	for _, ref := range choose(refs) {
		short := shortName(ref)
		switch other := versionOf(short, repository); {
		case strings.EqualFold(short, wanted):
			classes[0] = append(classes[0], short)
		case version.digits == "" || version.suffix != other.suffix:
		case version.digits == other.digits:
			classes[1] = append(classes[1], short)
		case version.padded() == other.padded():
			classes[2] = append(classes[2], short)
		}
	}
	for _, class := range classes {
		if len(class) > 0 {
			return class
		}
	}
	return nil
}

// withoutRemote returns the name of a branch of a clone's remote as the remote itself has it.
func withoutRemote(name string) string {
	short := strings.TrimPrefix(strings.TrimPrefix(name, "refs/"), "remotes/")
	for _, remote := range []string{"origin/", "upstream/"} {
		if branch, ok := strings.CutPrefix(short, remote); ok {
			return branch
		}
	}
	return name
}

// version is a version number in the name of a branch or tag.
type version struct{ digits, suffix string }

// padded returns the numbers without zeros at the end: 5.11 and 5.11.0 are the same.
func (v version) padded() string {
	digits := v.digits
	for strings.HasSuffix(digits, ".0") {
		digits = strings.TrimSuffix(digits, ".0")
	}
	return digits
}

// versionParts are the parts of a version's name: the word before it, its numbers, and what follows.
var versionParts = regexp.MustCompile(`^([a-z]*)[-_.]?([0-9]+(?:[._-][0-9]+)*)(.*)$`)

// versionWords are written before version numbers, besides the name of the repository.
var versionWords = []string{"", "v", "r", "ver", "version", "rel", "release"}

// versionOf returns the version that a name is of, or the zero version.
func versionOf(name, repository string) version {
	lower := strings.ToLower(name)
	if rest, ok := strings.CutPrefix(lower, repository); ok {
		lower = strings.TrimLeft(rest, "-_.")
	}
	parts := versionParts.FindStringSubmatch(lower)
	if parts == nil || !slices.Contains(versionWords, parts[1]) {
		return version{}
	}
	return version{
		digits: strings.NewReplacer("-", ".", "_", ".").Replace(parts[2]),
		suffix: strings.NewReplacer("-", "", "_", "", ".", "").Replace(parts[3]),
	}
}

// sameRepositories returns the names that say the same as a repository's name that does not exist:
// with another case, or without the folders before it.
func sameRepositories(name string, known []string) (same []string) {
	for _, k := range known {
		if strings.EqualFold(k, name) || !strings.Contains(name, "/") && strings.EqualFold(path.Base(k), name) {
			same = append(same, k)
		}
	}
	return same
}
