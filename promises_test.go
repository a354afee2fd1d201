package repomcp_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const promisesPage = "docs/promises.md"

// proof names a test on the page: `internal/httpx.TestName`, or with a story behind it.
var proof = regexp.MustCompile("`([a-z][a-z0-9/]*)\\.((?:Test|Fuzz)\\w+)(?:/([a-z-]+))?`")

// TestPromisesHaveProofs reads the page, of which every row has to name tests, and
// looks for each of them where it says.
func TestPromisesHaveProofs(t *testing.T) {
	page, err := os.ReadFile(promisesPage)
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]string) // the tests of a folder, as they are written
	rows, named := 0, 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "**") {
			if strings.HasPrefix(line, "| **") {
				t.Errorf("%.60q has %d cells and not three", line, len(cells)-2)
			}
			continue
		}
		rows++
		proofs := proof.FindAllStringSubmatch(cells[3], -1)
		if len(proofs) == 0 || len(proofs) != strings.Count(cells[3], "`")/2 {
			t.Errorf("%s: %d tests are understood of %s", cells[1], len(proofs), cells[3])
		}
		for _, p := range proofs {
			named++
			checkProof(t, known, p[1], p[2], p[3])
		}
	}
	if rows < 45 || named < 150 {
		t.Errorf("only %d rows and %d tests were understood", rows, named)
	}
}

// checkProof looks for a test in the files of a folder.
func checkProof(t *testing.T, known map[string]string, folder, name, story string) {
	t.Helper()
	if folder == "repomcp" {
		folder = "."
	}
	if _, read := known[folder]; !read {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		known[folder] = all.String()
	}
	if !regexp.MustCompile(`(?m)^func ` + name + `\(\w+ \*testing\.[TF]\)`).MatchString(known[folder]) {
		t.Errorf("there is no test %s in %s", name, folder)
	}
	if story == "" {
		return
	}
	if _, err := os.Stat(filepath.Join(folder, "testdata", story+".txtar")); err != nil {
		t.Errorf("there is no story %s: %v", story, err)
	}
}
