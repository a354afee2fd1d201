package httpx

import (
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/repomcp/repomcp/internal/resources"
)

// A reason without a status would be 0, and one that is 5xx without being the
// server's fault has monitoring wake somebody.
func TestEveryReasonHasAStatus(t *testing.T) {
	source, err := os.ReadFile("../resources/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`Reason = "(\w+)"`).FindAllSubmatch(source, -1)
	for _, match := range declared {
		if status := downloadStatus[resources.Reason(match[1])]; status < http.StatusBadRequest {
			t.Errorf("%s has the status %d", match[1], status)
		}
	}
	if len(declared) < 10 || len(downloadStatus) != len(declared) {
		t.Errorf("%d statuses for %d reasons", len(downloadStatus), len(declared))
	}
}
