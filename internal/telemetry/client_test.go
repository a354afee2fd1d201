package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// answering is a collector whose n-th answer, counted from 1, is by that function.
func answering(t *testing.T, answer func(n int32, w http.ResponseWriter)) (*destination, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		answer(asked.Add(1), w)
	}))
	t.Cleanup(server.Close)
	return &destination{url: server.URL, timeout: 5 * time.Second}, &asked
}

func TestOnlyWhatMayPassIsSentAgain(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int32{200: 1, 202: 1, 302: 1, 400: 1, 401: 1, 404: 1, 429: 2, 500: 1, 502: 2,
		503: 2, 504: 2} {
		to, asked := answering(t, func(n int32, w http.ResponseWriter) {
			if n == 1 {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}
		})
		err := spanExporter{testClient(t, to)}.ExportSpans(t.Context(), theSpans().Snapshots())
		if failed := status >= 300 && want == 1; (err != nil) != failed || asked.Load() != want {
			t.Errorf("%d: %v, asked %d times", status, err, asked.Load())
		}
	}
}

func TestSendingEnds(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	defer close(stuck)
	busy := func(_ int32, w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	silent := func(int32, http.ResponseWriter) { <-stuck }
	for name, c := range map[string]struct {
		answer  func(int32, http.ResponseWriter)
		timeout time.Duration
		leave   bool // the process ends
		end     bool // and has waited long enough
	}{
		"a busy collector":                 {answer: busy, timeout: 200 * time.Millisecond},
		"a silent one":                     {answer: silent, timeout: 200 * time.Millisecond},
		"a busy one, and the process ends": {answer: busy, timeout: time.Hour, leave: true},
		"a silent one, and the process has waited long enough": {answer: silent, timeout: time.Hour, end: true},
	} {
		to, _ := answering(t, c.answer)
		to.timeout = c.timeout
		leaving, leave := context.WithCancel(t.Context())
		left, end := context.WithCancel(t.Context())
		if c.leave {
			leave()
		}
		timer := time.AfterFunc(100*time.Millisecond, func() {
			if c.end {
				end()
			}
		})
		start := time.Now()
		if err := newClient(to, "", leaving, left).send(t.Context(), nil); err == nil {
			t.Errorf("%s: it was sent", name)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		timer.Stop()
		leave()
		end()
	}
}

func TestWhatACollectorRefusesIsSaid(t *testing.T) {
	t.Parallel()
	to, _ := answering(t, func(_ int32, w http.ResponseWriter) {
		reply, err := proto.Marshal(
			&collectorpb.ExportTraceServiceResponse{PartialSuccess: &collectorpb.ExportTracePartialSuccess{
				RejectedSpans: 2, ErrorMessage: "too many",
			}})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(reply) // the client is told by what it lacks
	})
	err := spanExporter{testClient(t, to)}.ExportSpans(t.Context(), theSpans().Snapshots())
	if err == nil || !strings.Contains(err.Error(), "refused 2: too many") {
		t.Error(err)
	}
}

// A key can be in the address.
func TestTheAddressIsNotSaid(t *testing.T) {
	t.Parallel()
	to := &destination{url: "http://user:canary@127.0.0.1:1/canary?key=canary", timeout: time.Millisecond}
	err := spanExporter{testClient(t, to)}.ExportSpans(t.Context(), theSpans().Snapshots())
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

func TestFailuresAreLoggedNowAndThen(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	c := &complaints{logger: slog.New(slog.NewTextHandler(&logged, nil))}
	for range 100 {
		c.Handle(errors.New("no"))
	}
	if n := strings.Count(logged.String(), "\n"); n != 1 {
		t.Errorf("%d lines", n)
	}
	c.last = c.last.Add(-2 * logEvery)
	c.Handle(errors.New("again"))
	if n := strings.Count(logged.String(), "\n"); n != 2 || !strings.Contains(logged.String(), "not_logged=99") {
		t.Error(&logged)
	}
}
