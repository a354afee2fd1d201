package links

import "errors"

// A token is refused with one of these errors. Details that follow them are for the log, not for
// the bearer.
var (
	// ErrForged says that no key of the ring signed the token for this use: it was altered, is for
	// another host or method, or its key was removed.
	ErrForged = errors.New("the link is not genuine")
	// ErrExpired says that the link was valid before.
	ErrExpired = errors.New("the link has expired")
	// ErrUsed says that a single-use link has been downloaded.
	ErrUsed = errors.New("the link has been used")
	// ErrTooLong says that a token, or the token for some claims, would be longer than any valid
	// one.
	ErrTooLong = errors.New("the link is too long")
	// ErrCredentials says that the link is valid only together with the credentials of its
	// principal.
	ErrCredentials = errors.New("the link needs the credentials of its principal")
	// ErrUnavailable says that it is unknown whether a single-use link was used. The link is
	// refused for now.
	ErrUnavailable = errors.New("the record of used links is unavailable")
	// ErrGrant says that a grant is invalid: a mistake of the caller.
	ErrGrant = errors.New("no link can be made")
)
