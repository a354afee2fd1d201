package httpx

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/resources"
)

func TestLastModified(t *testing.T) {
	now := time.Unix(1_700_000_000, 5)
	for seconds, want := range map[int64]int64{1_600_000_000: 1_600_000_000, 1: 1, 0: 0, -5: 0,
		1_700_000_001: 1_700_000_000, 1 << 55: 1_700_000_000} {
		got := lastModified(&resources.Found{Modified: time.Unix(seconds, 0)}, now)
		if want == 0 && !got.IsZero() || want != 0 && got.Unix() != want {
			t.Errorf("%d: %v", seconds, got)
		}
	}
	if got := lastModified(&resources.Found{}, now); !got.IsZero() {
		t.Errorf("no date: %v", got)
	}
}

// Clients rely on these statuses. TestEveryReasonHasAStatus holds that there are no others.
func TestEveryFailureHasAStatus(t *testing.T) {
	s := &Server{logger: slog.New(slog.DiscardHandler)}
	for reason, want := range map[resources.Reason]int{
		resources.ReasonURI: 400, resources.ReasonNotFound: 404, resources.ReasonAmbiguous: 409,
		resources.ReasonTooLarge: 403, resources.ReasonUnsupportedRepo: 501, resources.ReasonIncompleteRepo: 501,
		resources.ReasonCorruptRepo: 500, resources.ReasonUnreadableRepo: 500, resources.ReasonBusy: 503,
		resources.ReasonInternal: 500, resources.ReasonCancelled: 500, resources.ReasonFullNeeded: 409,
	} {
		w := httptest.NewRecorder()
		c := echo.New().NewContext(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), w)
		if err := s.refuseDownload(c, &resources.Error{Reason: reason, Message: "x"}); err != nil || w.Code != want {
			t.Errorf("%s: %d %v", reason, w.Code, err)
		}
		if retry := w.Header().Get("Retry-After"); (retry != "") != (want == http.StatusServiceUnavailable) {
			t.Errorf("%s: Retry-After %q", reason, retry)
		}
	}
}

func TestEveryFailureOfALinkHasAStatus(t *testing.T) {
	s := &Server{logger: slog.New(slog.DiscardHandler)}
	for failure, want := range map[error]int{
		links.ErrTooLong: 404, links.ErrForged: 404, links.ErrUsed: 404, links.ErrExpired: 410,
		links.ErrCredentials: 401, links.ErrUnavailable: 503, resources.ErrLinkGone: 503,
	} {
		w := httptest.NewRecorder()
		c := echo.New().NewContext(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/dl/x", nil), w)
		if err := s.refuseLink(c, fmt.Errorf("%w: redis:secret@host", failure)); err != nil || w.Code != want ||
			strings.Contains(w.Body.String(), "secret") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%v: %d %s %v, want %d", failure, w.Code, w.Body, err, want)
		}
		if retry := w.Header().Get("Retry-After"); (retry != "") != (want == http.StatusServiceUnavailable) {
			t.Errorf("%v: Retry-After %q", failure, retry)
		}
	}
	if len(linkFailures) != 7 {
		t.Errorf("%d failures of links, of which 7 are tried", len(linkFailures))
	}
}

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
