package access

import "errors"

// Why a token does not let its bearer in. What wraps them may be logged, and never has
// the token in it; who sent it is told the kind alone.
var (
	// ErrInvalid says that a token is none of this server's, or no longer.
	ErrInvalid = errors.New("the token is not valid")
	// ErrScope says that a valid token was given out for something else.
	ErrScope = errors.New("the token lacks the scope")
	// ErrUnavailable says that nobody can tell now whether a token is valid.
	ErrUnavailable = errors.New("the token cannot be checked now")
)
