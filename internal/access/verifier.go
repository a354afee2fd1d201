package access

import (
	"context"
	"fmt"
	"strings"
)

// Verifier returns the principal of a token. It is safe for concurrent use. Errors wrap
// [ErrInvalid], [ErrScope] or [ErrUnavailable].
type Verifier interface {
	Authenticate(ctx context.Context, token string) (Principal, error)
}

// Verifiers selects a server's verifier by the kind of token: no token is passed to both.
type Verifiers struct {
	// Prefix identifies static tokens.
	Prefix string
	Static Verifier // nil: no static tokens
	Issued Verifier // for all other tokens; nil: none
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
