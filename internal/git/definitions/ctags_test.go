package definitions_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/definitions"
)

// maxTagLine is the length of the longest line that is looked at for a name.
const maxTagLine = 400

// TestNamesAreThoseOfCtags compares names with those that Universal Ctags finds in sources that most machines have:
// Go's, the headers of Linux, and the library of Perl. Ctags parses whole files, so that a few of its names are on
// lines that do not tell.
func TestNamesAreThoseOfCtags(t *testing.T) {
	ctags, err := exec.LookPath("ctags")
	if err != nil {
		t.Skip("ctags is not installed")
	}
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	languages := map[string]string{".c": "C", ".h": "C", ".pl": "Perl", ".pm": "Perl"}
	folders := []string{strings.TrimSpace(string(root)), "/usr/include/linux", "/usr/share/perl"}
	for _, folder := range folders {
		if _, err := os.Stat(folder); err != nil {
			t.Skipf("there is no %s", folder)
		}
	}
	files := filesOf(folders, languages)
	list := exec.CommandContext(t.Context(), ctags, "--output-format=json", "--fields=+nKl", "-L", "-", "-f", "-")
	list.Stdin = strings.NewReader(strings.Join(files, "\n"))
	out, err := list.Output()
	if err != nil {
		t.Skipf("this ctags is not Universal Ctags with JSON: %v", err)
	}
	found, all := make(map[string]int), make(map[string]int)
	missed := make(map[string][]string)
	texts := make(map[string][][]byte)
	for line := range bytes.Lines(out) {
		var tag struct {
			Name, Path, Language, Kind string
			Line                       int
		}
		if err := json.Unmarshal(line, &tag); err != nil {
			t.Fatal(err)
		}
		if texts[tag.Path] == nil {
			text, err := os.ReadFile(tag.Path)
			if err != nil {
				t.Fatal(err)
			}
			texts[tag.Path] = bytes.Split(text, []byte("\n"))
		}
		source := texts[tag.Path][tag.Line-1]
		if strings.HasPrefix(tag.Name, "__anon") || len(source) > maxTagLine {
			continue
		}
		kind := tag.Language + " " + tag.Kind
		start, end, ok := definitions.NamerOf(languages[filepath.Ext(tag.Path)]).Name(source)
		if all[kind]++; ok && strings.HasSuffix(tag.Name, string(source[start:end])) {
			found[kind]++
		} else if len(missed[kind]) < 5 {
			missed[kind] = append(missed[kind], tag.Path+": "+string(source))
		}
	}
	for kind, want := range map[string]struct {
		cases int
		share float64
	}{
		"C function": {200, 0.97}, "C++ struct": {1000, 0.99}, "C++ typedef": {50, 0.88}, "C++ macro": {1000, 0.99},
		"Perl subroutine": {100, 0.98}, "Perl package": {10, 0.9},
	} {
		share := float64(found[kind]) / float64(max(all[kind], 1))
		t.Logf("%s: %d of %d", kind, found[kind], all[kind])
		if all[kind] < want.cases || share < want.share {
			t.Errorf("%s: %d of %d, want %.0f%% of %d; missed are\n%s", kind, found[kind], all[kind], 100*want.share,
				want.cases, strings.Join(missed[kind], "\n"))
		}
	}
}

// filesOf returns the files below some folders that have one of the extensions.
func filesOf(folders []string, extensions map[string]string) []string {
	var files []string
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && extensions[filepath.Ext(path)] != "" {
				files = append(files, path)
			}
			return nil
		})
	}
	slices.Sort(files)
	return files
}
