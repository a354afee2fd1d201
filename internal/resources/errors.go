package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/patch"
	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/repos"
)

// Reason is the machine-readable name of a failure.
type Reason string

// These are the reasons for failures. Protocols add their own.
const (
	ReasonURI             Reason = "invalid_uri"
	ReasonNotFound        Reason = "not_found"
	ReasonAmbiguous       Reason = "ambiguous_revision"
	ReasonTooLarge        Reason = "too_large"
	ReasonFullNeeded      Reason = "full_needed"
	ReasonUnsupportedRepo Reason = "unsupported_repository"
	ReasonCorruptRepo     Reason = "corrupt_repository"
	ReasonUnreadableRepo  Reason = "unreadable_repository"
	ReasonIncompleteRepo  Reason = "incomplete_repository"
	ReasonBusy            Reason = "busy"
	ReasonCancelled       Reason = "cancelled"
	ReasonInternal        Reason = "internal_error"
)

// Error is a failure as the client sees it. Message says what to do next.
type Error struct {
	Reason  Reason
	Message string
	// Data are facts for programs.
	Data map[string]any
	// Cause is for the operator's log only.
	Cause error
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return string(e.Reason)
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// With adds a member to Data.
func (e *Error) With(key string, value any) *Error {
	if e.Data == nil {
		e.Data = make(map[string]any)
	}
	e.Data[key] = value
	return e
}

// failures maps the errors of the domain; the first match counts.
var failures = []struct {
	is      error
	reason  Reason
	message string
}{
	{ErrURI, ReasonURI, "Malformed resource URI. Take URIs from resources/list, or fill in a template of " +
		"resources/templates/list with percent-encoded values."},
	{git.ErrDenied, ReasonUnreadableRepo, "The server is not permitted to read the repository's files. Ask the " +
		"operator to let the server's user read the mirror."},
	{git.ErrPartial, ReasonIncompleteRepo, "The mirror is a partial clone, and what was asked for is not in it. " +
		"Ask the operator for a mirror that was made without --filter."},
	{git.ErrOutside, ReasonIncompleteRepo, "The mirror borrows objects from a folder outside of the server's " +
		"root (objects/info/alternates), where the server does not read. Ask the operator to move that folder " +
		"below the root, or to copy its objects with git repack -a."},
	{repos.ErrQuarantined, ReasonCorruptRepo,
		"The repository cannot be read, and is quarantined: it is tried again when its files change, or within a " +
			"minute. Other repositories are served. If it stays, ask the operator to run git fsck on the mirror."},
	{git.ErrLFS, ReasonCorruptRepo, "The mirror's file of a git-lfs object is not what the pointer in the commit " +
		"says. Ask the operator to delete the file below lfs/objects and to fetch it again with git lfs fetch " +
		"--all, or ask without lfs=content."},
	{git.ErrCorrupt, ReasonCorruptRepo, "The repository's data is damaged or just being changed. Try again; if " +
		"it stays, ask the operator to run git fsck on the mirror."},
	{git.ErrUnsupported, ReasonUnsupportedRepo, "The repository uses a storage format that this server does not " +
		"read (SHA-256 objects or an unknown extension). Ask the operator for a mirror in the default " +
		"format."},
	{git.ErrBusy, ReasonBusy, "The server is out of file descriptors or temporary space for the moment. Try " +
		"again in a few seconds."},
	{git.ErrUnborn, ReasonNotFound, "HEAD of the repository names a branch that does not exist, while others do. " +
		"Name a branch or a tag: read repo://{repo}/refs."},
	{git.ErrEmpty, ReasonNotFound, "The repository has no commits yet. Push one to its mirror first."},
	{patch.ErrMerge, ReasonNotFound, "The commit is a merge, and git format-patch makes no patch of merges. Ask for " +
		".diff: what it changed against its first parent."},
	{patch.ErrUnrelated, ReasonNotFound, "The commits have no commit in common, from which three dots would compare. " +
		"Compare them themselves with two dots: BASE..HEAD."},
	{git.ErrNotFound, ReasonNotFound, "Resource not found. List repositories with resources/list, read " +
		"repo://{repo}/refs for branches and tags, and repo://{repo}/contents for files."},
	{archive.ErrLimit, ReasonTooLarge, "The archive is larger than this server allows. Ask the operator to raise " +
		"its limits."},
	{history.ErrTooMany, ReasonTooLarge, "More files or commits differ than one patch may have. Compare nearer " +
		"commits, or download the files that differ as an archive with the option base."},
	{cache.ErrClosed, ReasonBusy, "The server is about to stop. Try again in a few seconds."},
	{context.Canceled, ReasonCancelled, "The request was cancelled."},
}

// AsError translates an error of the domain for the client, and adds the URI unless that is "".
func AsError(err error, uri string) *Error {
	failure := asError(err)
	if uri == "" {
		return failure
	}
	return failure.With("uri", uri)
}

func asError(err error) *Error {
	if own := (*Error)(nil); errors.As(err, &own) {
		return own
	}
	if refusal := limits.RefusalOf(err); refusal != nil {
		return Refused(refusal)
	}
	if ambiguous := (*git.AmbiguousError)(nil); errors.As(err, &ambiguous) {
		candidates := make([]string, len(ambiguous.Candidates))
		for i, id := range ambiguous.Candidates {
			candidates[i] = id.String()
		}
		e := &Error{Reason: ReasonAmbiguous, Cause: err, Message: "The abbreviated commit id fits several commits. " +
			"Give more digits: " + strings.Join(candidates, ", ") + "."}
		return e.With("candidates", candidates)
	}
	if errors.Is(err, archive.ErrOption) {
		what := strings.TrimPrefix(err.Error(), ErrURI.Error()+": ")
		return &Error{Reason: ReasonURI, Message: "Malformed resource URI: " + what + ".", Cause: err}
	}
	if syntax := (*git.RevisionError)(nil); errors.As(err, &syntax) {
		return &Error{Reason: ReasonURI, Message: sentence(repos.ExplainRevision(syntax)), Cause: err}
	}
	if other := (*git.KindError)(nil); errors.As(err, &other) {
		return &Error{Reason: ReasonNotFound, Message: sentence(repos.ExplainRevision(other)), Cause: err}
	}
	if nothing := (*archive.NoMatchError)(nil); errors.As(err, &nothing) {
		e := &Error{Reason: ReasonNotFound, Cause: err, Message: "The option " + nothing.Error() + ". Read " +
			"repo://{repo}/contents for what there is."}
		return e.With("option", nothing.Option).With("value", Text(nothing.Value))
	}
	if needed := (*archive.FullNeededError)(nil); errors.As(err, &needed) {
		e := &Error{Reason: ReasonFullNeeded, Cause: err, Message: "There is no difference to be " +
			"had: " + needed.Error() + ". Ask again without base, or with fallback=full."}
		return e.With("cause", needed.Reason)
	}
	for _, f := range failures {
		if !errors.Is(err, f.is) {
			continue
		}
		e := &Error{Reason: f.reason, Message: f.message, Cause: err}
		if errors.Is(f.is, repos.ErrQuarantined) {
			e = e.With("quarantined", true)
		}
		return e
	}
	return Internal(err)
}

// refusalTexts say what to do about a refusal.
var refusalTexts = map[limits.Reason]string{
	limits.Client: "Your requests use all that one client may have of this server. Wait for their end, and try " +
		"again in %d seconds.",
	limits.Repository: "Too many requests are about this repository at the moment. Try again in %d seconds.",
	limits.Server:     "The server is busy. Try again in %d seconds.",
}

// Refused translates a refusal for the client.
func Refused(refusal *limits.Refusal) *Error {
	seconds := int(refusal.RetryAfter.Seconds())
	failure := &Error{Reason: ReasonBusy, Cause: refusal, Message: fmt.Sprintf(refusalTexts[refusal.Reason], seconds)}
	return failure.With("limit", refusal.Reason).With("retryAfterSeconds", seconds)
}

// sentence turns the message of an error into a sentence.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// Internal is an unexpected failure.
func Internal(err error) *Error {
	return &Error{Reason: ReasonInternal, Cause: err, Message: "Internal error. Try again; the operator finds the " +
		"cause in the server's log."}
}

// reported are the failures that only an operator can repair.
var reported = []Reason{ReasonInternal, ReasonCorruptRepo, ReasonUnreadableRepo, ReasonIncompleteRepo}

// isLogged reports whether a failure is to be logged. Cancellations are not, nor are failures of a
// quarantined repository, which were logged when the quarantine began.
func (e *Error) isLogged() bool {
	return slices.Contains(reported, e.Reason) && !errors.Is(e.Cause, context.Canceled) &&
		!errors.Is(e.Cause, repos.ErrQuarantined)
}

// Failure translates an error for the client, and logs those that concern the operator.
func (s *Service) Failure(ctx context.Context, err error, uri string) *Error {
	failure := AsError(err, uri)
	if AccountOf(ctx).Summary().Stale {
		failure = failure.With("mirrorStale", true)
	}
	if failure.isLogged() {
		s.options.Logger.ErrorContext(ctx, "a request "+
			"failed", "reason", failure.Reason, "uri", failure.Data["uri"], "error", failure.Cause)
	}
	return failure
}

// Text makes a JSON string of any name: invalid UTF-8 is replaced; the URI beside it still has the
// exact bytes.
func Text(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

// Clip bounds a client's string that an error repeats.
func Clip(s string) string { return quoting.Clip(s, 64) }

// ClipLong is Clip for strings that may be as long as most URIs.
func ClipLong(s string) string { return quoting.Clip(s, 300) }
