package links

import "errors"

// What a token is refused with. The text after them is for the log, not for
// the bearer.
var (
	// ErrForged says that no key of the ring signed the token for this use: it
	// was altered, is of another host or method, or its key was taken out.
	ErrForged = errors.New("the link is not genuine")
	// ErrExpired says that the link was good, some time ago.
	ErrExpired = errors.New("the link has expired")
	// ErrUsed says that a single-use link has served its download.
	ErrUsed = errors.New("the link has been used")
	// ErrTooLong refuses a token that is longer than any of ours, and claims
	// that would make one.
	ErrTooLong = errors.New("the link is too long")
	// ErrCredentials says that the link is good only together with the
	// credentials of the principal it was made for.
	ErrCredentials = errors.New("the link needs the credentials of its principal")
	// ErrUnavailable says that nobody knows whether a single-use link was used.
	// It is refused for now.
	ErrUnavailable = errors.New("the record of used links is unavailable")
	// ErrGrant refuses what no link can be made of: a mistake of the caller.
	ErrGrant = errors.New("no link can be made")
)
