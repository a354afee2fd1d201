// Package admin serves the operator of a server, on a listener apart from that of
// clients: metrics, how the server is, and profiles of the process.
//
// Whoever reaches it learns the names of all repositories and can have the process
// profiled, unless it wants a token. Web pages of others do not reach it: it refuses their
// origins, and a Host that one of them can have made up, which is any but an address, localhost and the
// names that it is given.
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// readHeaderTimeout ends connections that send their header byte by byte.
	readHeaderTimeout = 10 * time.Second
	// idleTimeout is longer than the minute between two scrapes.
	idleTimeout = 90 * time.Second
	// maxHeaderBytes are enough for what Prometheus and browsers send.
	maxHeaderBytes = 16 << 10

	healthPath  = "/healthz"
	readyPath   = "/readyz"
	profilePath = "/debug/pprof/"
	// verbose has readiness name repositories and files.
	verbose = "verbose"
)

// Options of a [Server]. All but Hosts and Token are required.
type Options struct {
	Metrics   http.Handler
	Catalogue *repos.Catalogue
	// Faults returns why files of the operator are refused as they are now, by what they are: what
	// they said before is in force.
	Faults func() map[string]error
	// Hosts are names that the Host header may have, without ports.
	Hosts []string
	// Token is what a request has to bring for more than whether the server is well; "" lets in all
	// who can connect.
	Token  string
	Logger *slog.Logger
}

// Server answers the operator.
type Server struct {
	options  Options
	draining atomic.Bool
	http     *http.Server
}

// New makes a server.
func New(options Options) *Server {
	s := &Server{options: options}
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", options.Metrics)
	routes.HandleFunc("GET "+healthPath, s.healthz)
	routes.HandleFunc("GET "+readyPath, s.readyz)
	routes.HandleFunc("GET "+profilePath, pprof.Index)
	routes.HandleFunc("GET "+profilePath+"cmdline", pprof.Cmdline)
	routes.HandleFunc("GET "+profilePath+"profile", pprof.Profile)
	routes.HandleFunc("GET "+profilePath+"symbol", pprof.Symbol)
	routes.HandleFunc("GET "+profilePath+"trace", pprof.Trace)
	s.http = &http.Server{
		Handler: s.admit(routes), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(options.Logger.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve accepts connections until ctx ends, and then closes them.
func (s *Server) Serve(ctx context.Context, listener net.Listener) {
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })() // nobody's download is lost
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.options.Logger.Error("the admin listener failed", "error", err)
	}
}

// Drain has /readyz fail from now on.
func (s *Server) Drain() { s.draining.Store(true) }

// healthz says whether the process can do its work.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	if err := s.options.Catalogue.Check(); err != nil {
		plain(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	plain(w, http.StatusOK, "ok\n")
}

// readyz says whether clients should be sent here, how many repositories are set
// aside, if any, and with ?verbose which files of the operator are refused and how old each mirror is.
// A mirror that cannot be read is no reason to send clients elsewhere, who would miss the others.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	status, text := http.StatusOK, "ok\n"
	if err := s.options.Catalogue.Check(); err != nil {
		status, text = http.StatusServiceUnavailable, err.Error()+"\n"
	}
	if s.draining.Load() {
		status, text = http.StatusServiceUnavailable, "the server is stopping\n"
	}
	if n := len(s.options.Catalogue.Quarantined()); n > 0 {
		text += fmt.Sprintf("%d repositories are set aside\n", n)
	}
	if r.URL.Query().Has(verbose) {
		text += s.faults() + s.mirrors(time.Now())
	}
	plain(w, status, text)
}

// faults lists the files that are refused, one to a line.
func (s *Server) faults() string {
	var b strings.Builder
	all := s.options.Faults()
	for _, what := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "file %q is refused, and what it said before stays: %s\n", what,
			strings.ReplaceAll(all[what].Error(), "\n", " "))
	}
	return b.String()
}

// mirrors sums up how old the mirrors are, and lists them, one to a line.
func (s *Server) mirrors(now time.Time) string {
	var b strings.Builder
	counts := make(map[git.FetchState]int)
	var oldest time.Time
	for _, name := range s.options.Catalogue.Names() {
		repository, err := s.options.Catalogue.Known(name)
		if err != nil {
			continue // it has just gone
		}
		last, err := repository.LastFetch()
		if err != nil {
			last.State = unreadable
		}
		counts[last.State]++
		if last.State == git.FetchDone && (oldest.IsZero() || last.At.Before(oldest)) {
			oldest = last.At
		}
		fmt.Fprintf(&b, "mirror %q %s", name, age(last, err, now))
		if repository.Quarantined() {
			b.WriteString(", set aside")
		}
		b.WriteString("\n")
	}
	return summary(counts, oldest, now) + b.String()
}

// unreadable is the state of a mirror that does not tell when it was fetched.
const unreadable git.FetchState = "unreadable"

// summary is a line of how many mirrors are in which state.
func summary(counts map[git.FetchState]int, oldest, now time.Time) string {
	var parts []string
	for _, state := range []struct {
		state git.FetchState
		says  string
	}{
		{git.FetchDone, "fetched"}, {git.FetchUnfinished, "with an unfinished fetch"},
		{git.FetchNever, "never fetched"}, {unreadable, "unreadable"},
	} {
		if n := counts[state.state]; n > 0 || state.state == git.FetchDone {
			parts = append(parts, fmt.Sprintf("%d %s", n, state.says))
		}
	}
	text := "mirrors: " + strings.Join(parts, ", ")
	if !oldest.IsZero() {
		text += fmt.Sprintf("; the oldest fetch was %s ago", now.Sub(oldest).Round(time.Second))
	}
	return text + "\n"
}

func age(last git.Fetch, err error, now time.Time) string {
	switch {
	case err != nil:
		return "unreadable: " + err.Error()
	case last.State == git.FetchNever:
		return "never fetched"
	case last.State == git.FetchUnfinished:
		return fmt.Sprintf("fetch unfinished, begun %s ago", now.Sub(last.At).Round(time.Second))
	default:
		return fmt.Sprintf("fetched %s ago", now.Sub(last.At).Round(time.Second))
	}
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // who asked may have gone
}
