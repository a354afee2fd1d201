// Package admin serves the operator of a server, on a separate listener: metrics, health, and
// profiles of the process.
//
// A client of this listener learns the names of all repositories and can profile the process,
// unless a token is required. Web pages of other origins are refused, as is a Host header that such
// a page could have chosen: anything but an address, localhost and the configured names.
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
	// maxHeaderBytes suffices for Prometheus and browsers.
	maxHeaderBytes = 16 << 10

	healthPath  = "/healthz"
	readyPath   = "/readyz"
	profilePath = "/debug/pprof/"
	// verbose is the query parameter that makes readiness name repositories and files.
	verbose = "verbose"
)

// Options of a [Server]. Hosts and Token are optional.
type Options struct {
	Metrics   http.Handler
	Catalogue *repos.Catalogue
	// Faults returns why current files of the operator are refused, by the purpose of the file. The
	// previous content of such a file remains in force.
	Faults func() map[string]error
	// Hosts are the accepted names in the Host header, without ports.
	Hosts []string
	// Token is required for everything but plain health; "" admits every connection.
	Token  string
	Logger *slog.Logger
}

// Server answers the operator.
type Server struct {
	options  Options
	draining atomic.Bool
	http     *http.Server
}

// New returns a server; [Server.Serve] starts it.
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
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })() // there are no downloads to lose
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.options.Logger.Error("the admin listener failed", "error", err)
	}
}

// Drain makes /readyz fail from now on.
func (s *Server) Drain() { s.draining.Store(true) }

// healthz reports whether the process can work.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	if err := s.options.Catalogue.Check(); err != nil {
		plain(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	plain(w, http.StatusOK, "ok\n")
}

// readyz reports whether clients should be sent to this server and how many repositories are
// quarantined; with ?verbose, also which files of the operator are refused and how old each mirror
// is. An unreadable mirror does not make the server unready, because its clients would lose all
// other mirrors.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	status, text := http.StatusOK, "ok\n"
	if err := s.options.Catalogue.Check(); err != nil {
		status, text = http.StatusServiceUnavailable, err.Error()+"\n"
	}
	if s.draining.Load() {
		status, text = http.StatusServiceUnavailable, "the server is stopping\n"
	}
	if n := len(s.options.Catalogue.Quarantined()); n > 0 {
		text += fmt.Sprintf("%d repositories are quarantined\n", n)
	}
	if r.URL.Query().Has(verbose) {
		text += s.faults() + s.mirrors(time.Now())
	}
	plain(w, status, text)
}

// faults lists the refused files, one per line.
func (s *Server) faults() string {
	var b strings.Builder
	all := s.options.Faults()
	for _, what := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "file %q is refused, and what it said before stays: %s\n", what,
			strings.ReplaceAll(all[what].Error(), "\n", " "))
	}
	return b.String()
}

// mirrors summarizes the age of the mirrors, and lists them, one per line.
func (s *Server) mirrors(now time.Time) string {
	var b strings.Builder
	counts := make(map[git.FetchState]int)
	var oldest time.Time
	for _, name := range s.options.Catalogue.Names() {
		repository, err := s.options.Catalogue.Known(name)
		if err != nil {
			continue // deleted meanwhile
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
			b.WriteString(", quarantined")
		}
		b.WriteString("\n")
	}
	return summary(counts, oldest, now) + b.String()
}

// unreadable is the state of a mirror whose last fetch is unknown.
const unreadable git.FetchState = "unreadable"

// summary returns a line with the number of mirrors in each state.
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
	_, _ = w.Write([]byte(text)) // the client may be gone
}
