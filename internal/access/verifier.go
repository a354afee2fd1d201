package access

import (
	"context"
	"fmt"
	"strings"
)

// Verifier finds out who a token was given to. Several goroutines may use it. Errors wrap
// [ErrInvalid], [ErrScope] or [ErrUnavailable].
type Verifier interface {
	Authenticate(ctx context.Context, token string) (Principal, error)
}

// Verifiers are those of a server, by the kind of token: no token is shown to two.
type Verifiers struct {
	// Prefix begins the tokens of Static, and no others.
	Prefix string
	Static Verifier // nil: there are no such tokens
	Issued Verifier // of all other tokens; nil: there are none
}

// Authenticate implements [Verifier].
func (v Verifiers) Authenticate(ctx context.Context, token string) (Principal, error) {
	verifier := v.Issued
	if strings.HasPrefix(token, v.Prefix) {
		verifier = v.Static
	}
	if verifier == nil {
		return Principal{}, fmt.Errorf("%w: tokens of its kind are not accepted", ErrInvalid)
	}
	return verifier.Authenticate(ctx, token)
}
