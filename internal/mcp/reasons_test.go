package mcp

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/resources"
)

func TestEveryReasonHasItsCodes(t *testing.T) {
	t.Parallel()
	var declared []resources.Reason
	for _, file := range []string{"errors.go", "../resources/errors.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`Reason = "(\w+)"`).FindAllSubmatch(source, -1) {
			declared = append(declared, resources.Reason(match[1]))
		}
	}
	slices.Sort(declared)
	if coded := slices.Sorted(maps.Keys(codes)); len(declared) < 15 || !slices.Equal(declared, coded) {
		t.Errorf("declared are %v, codes have %v", declared, coded)
	}
	for reason, code := range codes {
		if code[SessionEra] >= 0 || code[ModernEra] >= 0 {
			t.Errorf("%s has the codes %v", reason, code)
		}
	}
}
