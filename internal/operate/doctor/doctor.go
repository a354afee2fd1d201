// Package doctor examines a server that is about to start, or that runs: its mirrors, settings,
// tokens, rules, keys, clock, Redis and object storage. It listens at the server's addresses for a
// moment. It writes only one small file or object to the folder of temporary files, the cache folder
// and the bucket, as the server would, and removes it.
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
	"github.com/repomcp/repomcp/internal/resources/skills"
)

// Settings are the settings of the server that can be wrong.
type Settings struct {
	Root     string
	HideRefs []string
	// Deep reads all packs and loose objects, and verifies their checksums.
	Deep bool
	// Skills finds the skills of the mirrors; nil: they are not looked at.
	Skills *skills.Library
	// Refused are the errors that end the server before other checks.
	Refused []error
	// Unknown maps environment variables that are no setting to advice.
	Unknown map[string]string

	Listen, AdminListen string
	// AdminToken reports that the admin listener requires a token; AdminTokenFile is its file, if
	// any.
	AdminToken     bool
	AdminTokenFile string
	// Probe requests the health of the server at an address, over HTTPS if secure.
	Probe          func(ctx context.Context, address string, secure bool) error
	PublicURL      string
	AllowedHosts   []string
	TrustedProxies []string
	// Exposure is the server's warning about its listeners; "" for none.
	Exposure    string
	Connections int   // 0: half of the descriptors
	Watched     int   // maximal number of watched resources; 0: the kernel is not asked
	Budget      int64 // memory limit of the process
	Memory      int64 // share of the caches

	Asking    Asking
	FetchHook string
	// Git is the program that answers git clients; "" is the one in the PATH, if it can, and "off" is none.
	Git string

	TLSCert, TLSKey string
	SessionKey      string
	LinkKeys        string
	Redis           string

	CacheDir             string
	CacheBytes           int64
	Bucket, PublicBucket string
}

// notStarted is the advice for a setting that the server refuses; the error explains it.
const notStarted = "the server does not start with it"

// Level is the severity of a finding, in increasing order.
type Level int

// Levels of severity.
const (
	OK Level = iota
	Warning
	Fault // something does not work
)

var levelNames = []string{OK: "ok", Warning: "warning", Fault: "fault"}

func (l Level) String() string { return levelNames[l] }

// MarshalText returns the name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Finding is one line of a report.
type Finding struct {
	Level Level `json:"level"`
	// Check is the name of the check, such as "redis".
	Check string `json:"check"`
	// Subject is the repository, file or flag; may be "".
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text"`
	// Advice is the remedy; "" if there is nothing to do.
	Advice string `json:"advice,omitempty"`
}

// examination is the shared state of the checks.
type examination struct {
	Settings
	machine machine
	now     func() time.Time
	// mirrors is set by the check of the root, which runs first.
	mirrors mirrors
	// tokens is set by the check of tokens, before the check of rules.
	tokens []tokens.Entry
	// clocks of other machines, by their role.
	clocks map[string]reading

	check    string // the current one
	findings []Finding
}

// reading is the time of another clock at a local time.
type reading struct{ theirs, ours time.Time }

// checks are in execution order: each may use the results of earlier ones.
var checks = []struct {
	name string
	run  func(*examination, context.Context)
}{
	{"settings", (*examination).checkSettings},
	{"root", (*examination).checkRoot},
	{"mirrors", (*examination).checkMirrors},
	{"age", (*examination).checkAge},
	{"skills", (*examination).checkSkills},
	{"descriptors", (*examination).checkDescriptors},
	{"threads", (*examination).checkTasks},
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
	{"redis", (*examination).checkRedis},
	{"temporary", (*examination).checkTemporary},
	{"cache", (*examination).checkCache},
	{"bucket", (*examination).checkBucket},
	{"clock", (*examination).checkClocks},
}

// Report lists the findings.
type Report struct {
	Faults       int `json:"faults"`
	Warnings     int `json:"warnings"`
	Repositories int `json:"repositories"`
	// Findings are ordered by severity; those of one check stay together within a level.
	Findings []Finding `json:"findings"`
}

// Examine runs all checks. A context that ends is a fault of the current check.
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

// quiet reports whether the current check has found nothing so far.
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
