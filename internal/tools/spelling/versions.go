package spelling

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// CompareVersions orders names by the numbers in them, as strverscmp(3) does: at the first
// difference, runs of digits are compared as numbers, and runs with a leading zero as digits of a
// fraction. As with git's versionsort.suffix set to "-", v1.0-rc1 comes before v1.0.
func CompareVersions(a, b string) int {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return 0
	}
	if x, y := goesOnWith(a, at, '-'), goesOnWith(b, at, '-'); x != y && (at == 0 || a[at-1] != '-') {
		if x {
			return -1
		}
		return 1
	}
	start := at
	for start > 0 && isDigit(a[start-1]) {
		start--
	}
	return cmp.Or(compareNumbers(a[start:at], digitsOf(a[at:]), digitsOf(b[at:])), strings.Compare(a[at:], b[at:]))
}

// compareNumbers compares two numbers by their common digits and the different ones behind them. Those that begin with
// zeros are digits of a fraction, of which one that goes on is less if there were only zeros.
func compareNumbers(common, x, y string) int {
	begun, zeros := common != "", strings.Trim(common, "0") == ""
	switch {
	case begun && common[0] == '0' && !zeros:
		return 0
	case begun && zeros && (x == "") != (y == ""):
		return cmp.Compare(len(y), len(x))
	case begun && zeros, !begun && (x == "" || y == "" || x[0] == '0' || y[0] == '0'):
		return 0
	default:
		return cmp.Compare(len(x), len(y))
	}
}

func goesOnWith(s string, at int, c byte) bool { return at < len(s) && s[at] == c }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digitsOf returns the leading digits of a string.
func digitsOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))] }

// IsRelease reports whether the name of a tag has a version number, and no mark of a pre-release
// behind it, such as in v2.29.0-rc0, 3.13.0b1 and 1.0-SNAPSHOT.
func IsRelease(name string) bool {
	digit := strings.IndexAny(name, "0123456789")
	if digit < 0 {
		return false
	}
	return !slices.ContainsFunc(letterRuns.FindAllString(strings.ToLower(name[digit:]), -1), func(word string) bool {
		return slices.Contains(preReleases, word)
	})
}

// NewestRelease returns the name of the release with the highest version number, "" if there is none. Names may begin
// with that of the product: an order of whole names puts v2.0 before 8.0.
func NewestRelease(names []string, product string) (newest string) {
	highest := ""
	for _, name := range names {
		digits := versionOf(name, strings.ToLower(product)).digits
		if digits != "" && IsRelease(name) && (newest == "" || CompareVersions(digits, highest) > 0) {
			newest, highest = name, digits
		}
	}
	return newest
}

var letterRuns = regexp.MustCompile(`[a-z]+`)

// preReleases are the words by which projects mark versions that are no releases, in lower case.
var preReleases = []string{
	"a", "alpha", "b", "beta", "c", "canary", "cr", "dev", "ea", "eap", "exp", "experimental", "m", "milestone",
	"nightly", "next", "pr", "pre", "prerelease", "preview", "rc", "snapshot", "test", "testing", "unstable",
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
