package httpx

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/resources"
)

// What depends on refs has no parts, no dates and nothing that lasts, even by
// a commit's id.
func TestWeakContentPromisesNothing(t *testing.T) {
	content := &resources.Content{
		URI: "repo://a/archive/x.tar", MIMEType: "application/x-tar", FileName: "x.tar", Size: 10, ETag: "tag",
		Weak: true, Immutable: true,
		Modified: time.Now().Add(-time.Hour), Permalink: "/archive/a/x.tar",
	}
	s := &Server{logger: slog.New(slog.DiscardHandler)}
	for header, want := range map[[2]string]int{
		{"", ""}: 200, {"If-None-Match", `W/"tag"`}: 304, {"If-None-Match", `"tag"`}: 304, {"If-Match", `W/"tag"`}: 412,
		{"If-Match", `"tag"`}: 412, {"If-Match", "*"}: 200,
		{"Range", "bytes=2-3"}: 200, {"If-Modified-Since", time.Now().Format(http.TimeFormat)}: 200,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/archive/a/x.tar", nil)
		if header[0] != "" {
			r.Header.Set(header[0], header[1])
		}
		w := httptest.NewRecorder()
		if err := s.deliver(echo.New().NewContext(r, w), resources.PlainArchive, content); err != nil ||
			w.Code != want {
			t.Errorf("%v: %d %v", header, w.Code, err)
		}
		h := w.Header()
		if want == http.StatusPreconditionFailed {
			continue
		}
		if h.Get("ETag") != `W/"tag"` || h.Get("Cache-Control") != "private, no-cache" || h.Get("Accept-Ranges")+
			h.Get("Last-Modified")+h.Get("Link") != "" {
			t.Errorf("%v: %v", header, h)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/archive/a/x.tar", nil)
	r.Header.Set("Range", "bytes=2-3")
	if d, err := selectPart(r, content); err != nil || d.status != http.StatusOK || d.length != 10 {
		t.Errorf("a range of a weak content: %+v %v", d, err)
	}
}

func TestLastModified(t *testing.T) {
	now := time.Unix(1_700_000_000, 5)
	for seconds, want := range map[int64]int64{1_600_000_000: 1_600_000_000, 1: 1, 0: 0, -5: 0,
		1_700_000_001: 1_700_000_000, 1 << 55: 1_700_000_000} {
		got := lastModified(&resources.Content{Modified: time.Unix(seconds, 0)}, now)
		if want == 0 && !got.IsZero() || want != 0 && got.Unix() != want {
			t.Errorf("%d: %v", seconds, got)
		}
	}
	if got := lastModified(&resources.Content{}, now); !got.IsZero() {
		t.Errorf("no date: %v", got)
	}
}

// The statuses that clients go by. That there are no others is held by TestEveryReasonHasAStatus.
func TestEveryFailureHasAStatus(t *testing.T) {
	s := &Server{logger: slog.New(slog.DiscardHandler)}
	for reason, want := range map[resources.Reason]int{
		resources.ReasonURI: 400, resources.ReasonNotFound: 404, resources.ReasonAmbiguous: 409,
		resources.ReasonTooLarge: 403, resources.ReasonUnsupportedRepo: 501,
		resources.ReasonCorruptRepo: 500, resources.ReasonBusy: 503, resources.ReasonInternal: 500,
		resources.ReasonFullNeeded: 409,
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
