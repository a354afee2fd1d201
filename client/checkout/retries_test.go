package checkout

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

const retries = 3

// TestARunAgainstABusyServer takes one request more than there are retries.
func TestARunAgainstABusyServer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL+"/mcp", client.Options{HTTP: server.Client(), Retries: retries})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Sync(t.Context(), c, Options{Repository: "app", Dir: filepath.Join(t.TempDir(), "in")})
	if CodeOf(err) != CodeBusy || asked.Load() != retries+1 {
		t.Errorf("%d requests ended with %v, want %d and that the server is busy", asked.Load(), err, retries+1)
	}
}

// TestBeginningAnewMultipliesNoRetries: a download breaks, cannot be gone on with after some
// attempts, and is begun anew with those that are left.
func TestBeginningAnewMultipliesNoRetries(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(manyFiles("")...)
	through := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: p.server.to})
	const failing = 1 // requests between the break, which counts too, and the other bytes
	var asked, anew atomic.Int64
	var begun atomic.Bool // the second download
	address := serveProxy(t, func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Add(1); {
		case n == 1:
			through.ServeHTTP(&cutting{ResponseWriter: w, left: 200_000}, r)
		case begun.Load():
			anew.Add(1)
			fallthrough
		case n <= 1+failing:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.Header().Set("Etag", `"other"`)
			w.WriteHeader(http.StatusOK)
		}
	})
	c, err := client.New(address+"/mcp", client.Options{HTTP: p.http(), Retries: retries})
	if err != nil {
		t.Fatal(err)
	}
	o := p.options()
	o.Plain = true
	o.Events = func(e Event) {
		if e.Event == EventRetry {
			begun.Store(true)
		}
	}
	_, err = Sync(t.Context(), c, o)
	if want := int64(retries - failing); CodeOf(err) != CodeBusy || anew.Load() != want {
		t.Errorf("begun anew it took %d requests and ended with %v, want %d and that the server is busy", anew.Load(),
			err, want)
	}
}

// cutting is a reply that breaks off.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(b)
}

// TestFollowersTellOfAServerThatIsAway once the retries have not outlasted it.
func TestFollowersTellOfAServerThatIsAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"))
	through := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: p.server.to})
	through.FlushInterval = -1
	var away atomic.Bool
	address := serveProxy(t, func(w http.ResponseWriter, r *http.Request) {
		if away.Load() || r.Method == http.MethodPost && r.Header.Get("Mcp-Method") == "subscriptions/listen" {
			w.WriteHeader(map[bool]int{true: http.StatusBadGateway, false: http.StatusNotFound}[away.Load()])
			return
		}
		through.ServeHTTP(w, r)
	})
	f := p.follow(address, client.Options{Retries: 1, Poll: 50 * time.Millisecond})
	f.inStep()
	for range 2 {
		away.Store(true)
		if e, _ := f.await(EventGone); e.Code != CodeBusy {
			t.Errorf("the event is %+v, want that the server is busy", e)
		}
		away.Store(false)
		if _, before := f.await(EventBack); len(before) > 0 && before[0].Event == EventGone {
			t.Error("the same absence is told of again")
		}
	}
	p.commit(gittest.Regular("a", "2"))
	f.inStep()
	f.stop()
}
