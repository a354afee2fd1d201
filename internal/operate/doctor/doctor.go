// Package doctor looks for what is wrong with a server that is to be started, or
// runs: its mirrors, settings, tokens, rules, keys, clock, Redis and object storage. It listens
// at the server's addresses for a moment, and writes nothing but a small object in the
// cache folder and in the bucket, as the server would, and removes it.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/access/tokens"
	"github.com/repomcp/repomcp/internal/base/panics"
)

// Settings are those of the server, as far as something can be wrong with them.
type Settings struct {
	Root     string
	HideRefs []string
	// Deep reads all packs and loose objects, and compares them with their checksums.
	Deep bool
	// Refused is what the server would end with before it looked at anything else.
	Refused []error
	// Unknown are variables of the environment that are no setting, with what to do.
	Unknown map[string]string

	Listen, AdminListen string
	// AdminToken says that the admin listener wants a token, and AdminTokenFile which file has it, if any.
	AdminToken     bool
	AdminTokenFile string
	// Probe asks the server at an address for its health, over HTTPS if secure.
	Probe          func(ctx context.Context, address string, secure bool) error
	PublicURL      string
	AllowedHosts   []string
	TrustedProxies []string
	// Exposure is what the server warns of where it listens; "" for nothing.
	Exposure    string
	Connections int   // 0: half of the descriptors
	Watched     int   // how many resources clients may watch; 0: the kernel is not asked
	Budget      int64 // memory that the process stays within
	Memory      int64 // of that, what caches may take

	Asking    Asking
	FetchHook string
	// Git is the program that answers git clients; "" is the one in the PATH, if it can, and "off" is none.
	Git string

	TLSCert, TLSKey string
	SessionKey      string
	LinkKeys        string
	Revocations     string
	Redis           string

	CacheDir             string
	CacheBytes           int64
	Bucket, PublicBucket string
}

// notStarted is the advice for a setting that the server refuses, whose error says why.
const notStarted = "the server does not start with it"

// Level is how much a finding matters, the worst last.
type Level int

// The levels.
const (
	OK Level = iota
	Warning
	Fault // something does not work
)

var levelNames = []string{OK: "ok", Warning: "warning", Fault: "fault"}

func (l Level) String() string { return levelNames[l] }

// MarshalText is the name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Finding is one line of a report.
type Finding struct {
	Level Level `json:"level"`
	// Check is what was looked at, such as "redis".
	Check string `json:"check"`
	// Subject is the repository, file or flag that it is about; may be "".
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text"`
	// Advice is what to do; "" where nothing is to be done.
	Advice string `json:"advice,omitempty"`
}

// examination is what the checks of one report share.
type examination struct {
	Settings
	machine machine
	now     func() time.Time
	// mirrors is filled by the check of the root, which is the first.
	mirrors mirrors
	// tokens are filled by their check, before that of the rules.
	tokens []tokens.Entry
	// clocks are those of other machines, by what they are.
	clocks map[string]reading

	check    string // that runs
	findings []Finding
}

// reading is what a clock showed at a moment of ours.
type reading struct{ theirs, ours time.Time }

// checks are in the order in which they run: each may use what an earlier one found.
var checks = []struct {
	name string
	run  func(*examination, context.Context)
}{
	{"settings", (*examination).checkSettings},
	{"root", (*examination).checkRoot},
	{"mirrors", (*examination).checkMirrors},
	{"age", (*examination).checkAge},
	{"descriptors", (*examination).checkDescriptors},
	{"memory", (*examination).checkMemory},
	{"inotify", (*examination).checkWatches},
	{"listen", (*examination).checkListening},
	{"hosts", (*examination).checkHosts},
	{"proxies", (*examination).checkProxies},
	{"tls", (*examination).checkCertificate},
	{"tokens", (*examination).checkTokens},
	{"access", (*examination).checkAccess},
	{"issuer", (*examination).checkIssuer},
	{"fetch hook", (*examination).checkFetchHook},
	{"git", (*examination).checkGit},
	{"session key", (*examination).checkSessionKey},
	{"link keys", (*examination).checkLinkKeys},
	{"revocations", (*examination).checkRevocations},
	{"redis", (*examination).checkRedis},
	{"cache", (*examination).checkCache},
	{"bucket", (*examination).checkBucket},
	{"clock", (*examination).checkClocks},
}

// Report is what was found.
type Report struct {
	Faults       int `json:"faults"`
	Warnings     int `json:"warnings"`
	Repositories int `json:"repositories"`
	// Findings are the worst first; those of one check stay together within a level.
	Findings []Finding `json:"findings"`
}

// Examine runs all checks. That ctx ended is a fault of the check that ran.
func Examine(ctx context.Context, settings Settings) Report {
	return examine(ctx, &examination{Settings: settings, machine: thisMachine(), now: time.Now})
}

func examine(ctx context.Context, e *examination) Report {
	e.clocks = make(map[string]reading)
	for _, check := range checks {
		e.check = check.name
		err := panics.Catch(func() error { check.run(e, ctx); return nil })
		if err = errors.Join(err, ctx.Err()); err != nil {
			e.fault("", fmt.Sprintf("the check did not end: %v", err), "run it again; a panic is a bug to report")
		}
		if ctx.Err() != nil {
			break
		}
	}
	report := Report{Repositories: e.mirrors.count, Findings: e.findings}
	for _, f := range e.findings {
		switch f.Level {
		case Fault:
			report.Faults++
		case Warning:
			report.Warnings++
		}
	}
	slices.SortStableFunc(report.Findings, func(a, b Finding) int { return cmp.Compare(b.Level, a.Level) })
	return report
}

func (e *examination) add(level Level, subject, text, advice string) {
	e.findings = append(e.findings, Finding{level, e.check, subject, text, advice})
}

func (e *examination) ok(text string)                     { e.add(OK, "", text, "") }
func (e *examination) warn(subject, text, advice string)  { e.add(Warning, subject, text, advice) }
func (e *examination) fault(subject, text, advice string) { e.add(Fault, subject, text, advice) }

// quiet reports whether the check that runs has found nothing so far.
func (e *examination) quiet() bool {
	return !slices.ContainsFunc(e.findings, func(f Finding) bool { return f.Check == e.check })
}

func (e *examination) checkSettings(context.Context) {
	for _, err := range e.Refused {
		e.fault("", err.Error(), notStarted)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Unknown)) {
		e.warn(name, "the environment variable is no setting", e.Unknown[name])
	}
	if e.quiet() {
		e.ok("understood")
	}
}
