package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/repos"
)

// Reason is the machine-readable name of a failure, in error.data.reason.
type Reason string

// The reasons.
const (
	ReasonParse           Reason = "parse_error"
	ReasonRequest         Reason = "invalid_request"
	ReasonParams          Reason = "invalid_params"
	ReasonMethod          Reason = "method_not_found"
	ReasonHeader          Reason = "header_mismatch"
	ReasonVersion         Reason = "unsupported_protocol_version"
	ReasonURI             Reason = "invalid_uri"
	ReasonNotFound        Reason = "not_found"
	ReasonAmbiguous       Reason = "ambiguous_revision"
	ReasonCapability      Reason = "client_capability_missing"
	ReasonNotStreamable   Reason = "stream_not_supported"
	ReasonTooLarge        Reason = "too_large"
	ReasonFullNeeded      Reason = "full_needed"
	ReasonUnsupportedRepo Reason = "unsupported_repository"
	ReasonCorruptRepo     Reason = "corrupt_repository"
	ReasonUnreadableRepo  Reason = "unreadable_repository"
	ReasonIncompleteRepo  Reason = "incomplete_repository"
	ReasonSubscriptions   Reason = "too_many_subscriptions"
	ReasonBusy            Reason = "busy"
	ReasonInternal        Reason = "internal_error"
)

// codes is the one table of JSON-RPC error codes: in the session era and in
// the modern one (2026-07-28). -32003 and -32004 in the modern era are those
// of SEP-2532: the core specification discourages new codes from -32000 to
// -32019 but leaves them to implementations, and one set of codes for the
// method is worth more than a second one. The server's own limits have -32004 as
// well, of resources/read too: what the client does next is the same.
var codes = map[Reason][2]int{
	ReasonParse:           {-32700, -32700},
	ReasonRequest:         {-32600, -32600},
	ReasonParams:          {-32602, -32602},
	ReasonMethod:          {-32601, -32601},
	ReasonHeader:          {-32020, -32020},
	ReasonVersion:         {-32022, -32022},
	ReasonURI:             {-32602, -32602},
	ReasonNotFound:        {-32002, -32602},
	ReasonAmbiguous:       {-32602, -32602},
	ReasonCapability:      {-32003, -32021},
	ReasonNotStreamable:   {-32003, -32003},
	ReasonTooLarge:        {-32004, -32004},
	ReasonFullNeeded:      {-32602, -32602},
	ReasonUnsupportedRepo: {-32603, -32603},
	ReasonCorruptRepo:     {-32603, -32603},
	ReasonUnreadableRepo:  {-32603, -32603},
	ReasonIncompleteRepo:  {-32603, -32603},
	ReasonSubscriptions:   {-32000, -32603}, // never in the modern era: it acknowledges less
	ReasonBusy:            {-32603, -32603},
	ReasonInternal:        {-32603, -32603},
}

// Era is a generation of the protocol: with sessions, or without.
type Era int

// The eras.
const (
	SessionEra Era = iota // 2024-11-05 to 2025-11-25
	ModernEra             // 2026-07-28
)

// Error is a failure as the client sees it. Message says what to do next.
type Error struct {
	Reason  Reason
	Message string
	// Data is added to error.data beside reason.
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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Code is the JSON-RPC error code in an era.
func (e *Error) Code(era Era) int { return codes[e.Reason][era] }

// with adds to error.data.
func (e *Error) with(key string, value any) *Error {
	if e.Data == nil {
		e.Data = make(map[string]any)
	}
	e.Data[key] = value
	return e
}

// failures maps the errors of the domain; the first that matches counts.
var failures = []struct {
	is      error
	reason  Reason
	message string
}{
	{errURI, ReasonURI, "Malformed resource URI. Take URIs from resources/list, or fill in a template of resources/templates/list with percent-encoded values."},
	{repos.ErrDenied, ReasonUnreadableRepo, "The server is not permitted to read the repository's files. Ask the operator to let the server's user read the mirror."},
	{repos.ErrPartial, ReasonIncompleteRepo, "The mirror is a partial clone, and what was asked for is not in it. Ask the operator for a mirror that was made without --filter."},
	{repos.ErrOutside, ReasonIncompleteRepo, "The mirror borrows objects from a folder outside of the server's root (objects/info/alternates), where the server does not read. Ask the operator to move that folder below the root, or to copy its objects with git repack -a."},
	{repos.ErrCorrupt, ReasonCorruptRepo, "The repository's data is damaged or just being changed. Try again; if it stays, ask the operator to run git fsck on the mirror."},
	{repos.ErrUnsupported, ReasonUnsupportedRepo, "The repository uses a storage format that this server does not read (SHA-256 objects, reftable or an unknown extension). Ask the operator for a mirror in the default format."},
	{repos.ErrBusy, ReasonBusy, "The server is out of file descriptors or temporary space for the moment. Try again in a few seconds."},
	{repos.ErrUnborn, ReasonNotFound, "HEAD of the repository names a branch that does not exist, while others do. Name a branch or a tag: read repo://{repo}/refs."},
	{repos.ErrEmpty, ReasonNotFound, "The repository has no commits yet. Push one to its mirror first."},
	{repos.ErrNotFound, ReasonNotFound, "Resource not found. List repositories with resources/list, read repo://{repo}/refs for branches and tags, and repo://{repo}/contents for files."},
	{archive.ErrLimit, ReasonTooLarge, "The archive is larger than this server allows. Ask the operator to raise its limits."},
	{cache.ErrClosed, ReasonBusy, "The server is about to stop. Try again in a few seconds."},
	{context.Canceled, ReasonInternal, "The request was cancelled."},
}

// asError translates an error of the domain for the client.
func asError(err error, uri string) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e.with("uri", uri)
	}
	var ambiguous *repos.AmbiguousError
	if errors.As(err, &ambiguous) {
		candidates := make([]string, len(ambiguous.Candidates))
		for i, id := range ambiguous.Candidates {
			candidates[i] = id.String()
		}
		e = &Error{Reason: ReasonAmbiguous, Cause: err, Message: "The abbreviated commit id fits several commits. Give more digits: " + strings.Join(candidates, ", ") + "."}
		return e.with("candidates", candidates).with("uri", uri)
	}
	if errors.Is(err, archive.ErrOption) {
		what := strings.TrimPrefix(err.Error(), errURI.Error()+": ")
		return (&Error{Reason: ReasonURI, Message: "Malformed resource URI: " + what + ".", Cause: err}).with("uri", uri)
	}
	if syntax := (*repos.RevisionError)(nil); errors.As(err, &syntax) {
		return (&Error{Reason: ReasonURI, Message: sentence(syntax.Error()), Cause: err}).with("uri", uri)
	}
	var nothing *archive.NoMatchError
	if errors.As(err, &nothing) {
		e = &Error{Reason: ReasonNotFound, Cause: err, Message: "The option " + nothing.Error() + ". Read repo://{repo}/contents for what there is."}
		return e.with("option", nothing.Option).with("value", text(nothing.Value)).with("uri", uri)
	}
	var needed *archive.FullNeededError
	if errors.As(err, &needed) {
		e = &Error{Reason: ReasonFullNeeded, Cause: err, Message: "There is no difference to be had: " + needed.Error() + ". Ask again without base, or with fallback=full."}
		return e.with("cause", needed.Reason).with("uri", uri)
	}
	for _, f := range failures {
		if errors.Is(err, f.is) {
			return (&Error{Reason: f.reason, Message: f.message, Cause: err}).with("uri", uri)
		}
	}
	return internal(err).with("uri", uri)
}

// sentence is the text of an error as a sentence of its own.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func internal(err error) *Error {
	return &Error{Reason: ReasonInternal, Cause: err, Message: "Internal error. Try again; the operator finds the cause in the server's log."}
}
