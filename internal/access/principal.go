// Package access knows who asks. A transport finds out once who that is, and puts
// the [Principal] into the context of the request; all below takes it from there.
package access

import "context"

// Principal is who asks. The zero value is anybody: a server without authentication
// has no other.
type Principal struct {
	// ID tells principals apart, and is the same for as long as they exist:
	// "token:NAME" for a static token, "oauth:SUBJECT" for a token of the issuer, ""
	// for anybody. It may be logged.
	ID string
	// Groups are those that the token's entry or the claim of the issuer names.
	Groups []string
	// Scopes are those of the token. A static token has all.
	Scopes []string
}

type key struct{}

// WithPrincipal returns a context of what a principal asks for.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// PrincipalOf returns who asks; anybody where nobody has said that.
func PrincipalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(key{}).(Principal)
	return p
}
