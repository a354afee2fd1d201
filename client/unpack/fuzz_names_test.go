package unpack

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ignored are the code points that HFS+ passes over in names.
var ignored = regexp.MustCompile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")

// isRepository are names that some file system takes for .git: with a stream or dots
// and blanks behind them on NTFS, or its short name.
var isRepository = regexp.MustCompile(`(?i)^(\.git|git~[0-9]+)[. ]*(:.*)?$`)

// FuzzNames: a path that is let in stays below the folder, and is no repository's own
// folder on any system; what Windows is refused, Windows alone is refused.
func FuzzNames(f *testing.F) {
	f.Add("src/main.go")
	f.Fuzz(func(t *testing.T, path string) {
		onLinux, onWindows, onMac := checkPath("linux", path), checkPath("windows", path), checkPath("darwin", path)
		if onLinux != "" && (onWindows == "" || onMac == "") {
			t.Fatalf("%q: %q, but %q and %q", path, onLinux, onWindows, onMac)
		}
		if onLinux != "" {
			return
		}
		if !filepath.IsLocal(path) || filepath.ToSlash(filepath.Clean(path)) != path || strings.Contains(path, "\x00") {
			t.Fatalf("%q was let in", path)
		}
		for component := range strings.SplitSeq(path, "/") {
			if isRepository.MatchString(strings.ReplaceAll(ignored.ReplaceAllString(component, ""), "\n", "")) &&
				!strings.Contains(component, "\n") {
				t.Fatalf("%q was let in", path)
			}
			if onWindows == "" && (strings.ContainsAny(component, `\:<>"|?*`) || strings.HasSuffix(component, ".") ||
				strings.HasSuffix(component, " ")) {
				t.Fatalf("%q was let in on Windows", path)
			}
		}
	})
}

// FuzzPatchRecord: a record that is accepted has a size that can be, and its ids.
func FuzzPatchRecord(f *testing.F) {
	f.Add(strings.Repeat("0a", 20) + " " + strings.Repeat("0b", 20) + " 12345")
	f.Fuzz(func(t *testing.T, record string) {
		p, err := parsePatch(record)
		if err != nil {
			return
		}
		words := strings.Fields(record)
		if p.Size < 0 || len(words) != 3 || !strings.EqualFold(words[0], p.Base.String()) ||
			!strings.EqualFold(words[1], p.ID.String()) {
			t.Fatalf("%q is %+v", record, p)
		}
	})
}
