package access

import "errors"

// Reasons to refuse a token. Errors that wrap them may be logged, and never contain the token;
// clients only learn the kind.
var (
	// ErrInvalid means that a token is unknown, or not valid any more.
	ErrInvalid = errors.New("the token is not valid")
	// ErrScope means that a valid token was issued for another purpose.
	ErrScope = errors.New("the token lacks the scope")
	// ErrUnavailable means that a token cannot be verified now.
	ErrUnavailable = errors.New("the token cannot be checked now")
)
