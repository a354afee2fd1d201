// Package audit writes who read what: one line of JSON for each decision about contents, of every
// transport. The format is a contract (docs/audit.md, docs/audit.schema.json).
//
// # Order of use
//
// [Open] the log, give it to the server as an observer, and [Log.Close] it after the server.
//
// # Promises
//
// A line is written by one system call, at the end of the file, so that several processes may share
// it. The file is found by its name for each line: after a rotation the next line is in the new file,
// with or without a signal. No line has a token, a link or contents of a repository.
package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp"
	"github.com/repomcp/repomcp/internal/resources"
)

// Version is the version of the lines. It changes when a field is removed or changes its meaning, and
// not when one is added.
const Version = 1

// Stdout is the name of standard output as a log.
const Stdout = "-"

// permissions of a new log, which names clients and repositories.
const permissions = 0o600

// Options of a [Log].
type Options struct {
	// File is the path of the log, or [Stdout].
	File string
	// Rule returns the number of the rule that lets a principal read a repository, and 0 for none;
	// nil without rules.
	Rule   func(p access.Principal, repository string) int
	Logger *slog.Logger
}

// Log is an audit log. It is safe for concurrent use, and implements [httpx.Observer].
type Log struct {
	options Options
	mu      sync.Mutex
	file    *os.File
	lost    int // lines since the last one that was written
}

var _ httpx.Observer = (*Log)(nil)

// Open opens a log, and creates its file if there is none.
func Open(options Options) (*Log, error) {
	l := &Log{options: options}
	if options.File == Stdout {
		l.file = os.Stdout
		return l, nil
	}
	return l, l.reopen()
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.file == os.Stdout {
		return nil
	}
	return l.file.Close()
}

// reopen opens the file again if its name means another one by now.
func (l *Log) reopen() error {
	if l.options.File == Stdout {
		return nil
	}
	named, err := os.Stat(l.options.File)
	if err == nil && l.file != nil {
		if held, err := l.file.Stat(); err == nil && os.SameFile(named, held) {
			return nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(l.options.File, os.O_WRONLY|os.O_CREATE|os.O_APPEND, permissions)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close() // each line was written at once
	}
	l.file = file
	return nil
}

// write writes lines. Requests go on if that fails: the server's log says so once, and again with
// the number of lost lines when lines are written again.
func (l *Log) write(lines []line) {
	var text []byte
	for i := range lines {
		encoded, err := json.Marshal(&lines[i])
		if err != nil { // strings and numbers do not fail
			continue
		}
		text = append(append(text, encoded...), '\n')
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.reopen()
	if err == nil {
		_, err = l.file.Write(text)
	}
	switch {
	case err != nil:
		if l.lost == 0 {
			l.options.Logger.Error("the audit log cannot be written; requests go on, and their lines are lost",
				"error", err)
		}
		l.lost += len(lines)
	case l.lost > 0:
		l.options.Logger.Error("the audit log is written again", "lost_lines", l.lost)
		l.lost = 0
	}
}

// line is a line of the log: see docs/audit.schema.json.
type line struct {
	Audit      int       `json:"audit"`
	Time       time.Time `json:"time"`
	Outcome    string    `json:"outcome"`
	Principal  string    `json:"principal,omitempty"`
	Client     string    `json:"client,omitempty"`
	Transport  string    `json:"transport"`
	Action     string    `json:"action"`
	Tool       string    `json:"tool,omitempty"`
	Asked      string    `json:"asked,omitempty"`
	Repository string    `json:"repository,omitempty"`
	Rule       int       `json:"rule,omitempty"`
	Ref        string    `json:"ref,omitempty"`
	Commit     string    `json:"commit,omitempty"`
	Path       string    `json:"path,omitempty"`
	Bytes      int64     `json:"bytes"`
	Status     int       `json:"status,omitempty"`
	Code       int       `json:"code,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	RequestID  string    `json:"request_id,omitempty"`
}

// Outcomes of a decision.
const (
	outcomeDone    = "done"    // the reply has what was asked for
	outcomeRefused = "refused" // the reply says why not
	outcomeDenied  = "denied"  // the credentials did not admit the client
	outcomeFailed  = "failed"  // a fault of the server or a mirror
	outcomeAborted = "aborted" // the reply did not end
)

// silent are messages about the protocol, which read nothing of a repository.
var silent = []string{
	"initialize", "ping", "server/discover", "tools/list", "prompts/list", "prompts/get", "resources/templates/list",
	"logging/setLevel", "resources/unsubscribe",
}

// silentPaths are beginnings of paths that say nothing of a repository.
var silentPaths = []string{"/healthz", "/.well-known/", "/mcp/server-card"}

// Request implements [httpx.Observer]. Messages have lines of their own.
func (l *Log) Request(r httpx.Request) {
	details, asked := r.Details, r.Details.Path()
	isSilent := details.CarriesMessages() ||
		slices.ContainsFunc(silentPaths, func(path string) bool { return strings.HasPrefix(asked, path) })
	if details.Told || isSilent && r.Status < http.StatusBadRequest {
		return
	}
	if query := details.Query(); query != "" {
		asked += "?" + query
	}
	l.decide(line{
		Outcome: outcomeOf(r.Outcome, r.Status), Transport: "http", Action: r.Method, Asked: asked, Bytes: r.Bytes,
		Status: r.Status, Reason: details.Denied,
	}, details.Account.Summary(), details.Origin)
}

// Message implements [httpx.Observer].
func (l *Log) Message(m mcp.Exchange) {
	request := m.Details.Request
	if slices.Contains(silent, m.Method) || !request.IsRequest() {
		return
	}
	summary := m.Details.Account.Summary()
	status := m.Details.Status
	if summary.Code == codeInternal {
		status = http.StatusInternalServerError
	}
	l.decide(line{
		Outcome: outcomeOf(m.Outcome, status), Transport: m.Transport, Action: resources.Clip(resources.Text(m.Method)),
		Tool: summary.Tool, Asked: askedBy(request), Bytes: m.Bytes, Status: m.Details.Status, Code: summary.Code,
	}, summary, m.Details.Origin)
}

// codeInternal is the code of an internal error in JSON-RPC 2.0.
const codeInternal = -32603

// askedBy returns the URI of a message. A URI of another scheme may be a link, which is a secret.
func askedBy(request *mcp.Request) string {
	if uri := request.Params.URI; strings.HasPrefix(uri, resources.Scheme) || resources.IsSkill(uri) {
		return resources.ClipLong(resources.Text(uri))
	}
	return ""
}

// outcomeOf returns the outcome of a reply with a status of HTTP.
func outcomeOf(outcome string, status int) string {
	switch {
	case outcome == mcp.OutcomeAborted:
		return outcomeAborted
	case outcome == mcp.OutcomeDone:
		return outcomeDone
	case status == http.StatusInternalServerError:
		return outcomeFailed
	default:
		return outcomeRefused
	}
}

// decide completes and writes the line of a request, or several if it read several commits or files.
func (l *Log) decide(decision line, summary resources.Summary, origin mcp.Origin) {
	decision.Audit, decision.Time = Version, time.Now().UTC()
	decision.Client, decision.RequestID = origin.Client, origin.RequestID
	decision.Ref, decision.Path = summary.Ref, summary.Path
	if decision.Reason != "" {
		decision.Outcome = outcomeDenied
	}
	if decision.Principal = summary.Reader.ID; decision.Principal == "" {
		decision.Principal = origin.Principal
	}
	reads := summary.Reads
	if len(reads) == 0 {
		reads = []resources.Read{{Repository: summary.Repository, Commit: summary.Commit}}
	}
	lines := make([]line, len(reads))
	for i, read := range reads {
		lines[i] = decision
		lines[i].Repository, lines[i].Commit = read.Repository, read.Commit
		lines[i].Path = cmp.Or(read.Path, summary.Path)
		if l.options.Rule != nil && read.Repository != "" {
			lines[i].Rule = l.options.Rule(summary.Reader, read.Repository)
		}
	}
	l.write(lines)
}

// RequestBegan implements [httpx.Observer].
func (*Log) RequestBegan() {}

// Session implements [httpx.Observer].
func (*Log) Session(mcp.Session) {}

// StreamBegan implements [httpx.Observer].
func (*Log) StreamBegan() {}

// StreamEnded implements [httpx.Observer].
func (*Log) StreamEnded(bool) {}
