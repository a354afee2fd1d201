package httpx

import (
	"net/http"
	"testing"

	"github.com/repomcp/repomcp/internal/resources"
)

// A reason without a status would be 0, and one that is 5xx without being the
// server's fault has monitoring wake somebody.
func TestEveryReasonHasAStatus(t *testing.T) {
	for _, reason := range resources.Reasons() {
		if status := downloadStatus[reason]; status < http.StatusBadRequest {
			t.Errorf("%s has the status %d", reason, status)
		}
	}
	if len(downloadStatus) != len(resources.Reasons()) {
		t.Errorf("%d statuses for %d reasons", len(downloadStatus), len(resources.Reasons()))
	}
}
