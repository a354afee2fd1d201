// Package access identifies clients. A transport authenticates a client once and puts its
// [Principal] into the context of the request; all lower layers read it from there.
package access

import "context"

// Principal is an authenticated client. The zero value is anonymous: without authentication there
// is no other.
type Principal struct {
	// ID identifies a principal permanently: "token:NAME" for a static token, "oauth:SUBJECT" for a
	// token of the issuer, "" for an anonymous client. It may be logged.
	ID string
	// Groups come from the token's entry or the issuer's claim.
	Groups []string
	// Scopes of the token. A static token has all scopes.
	Scopes []string
}

type key struct{}

// WithPrincipal adds a principal to a context.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// PrincipalOf returns the principal of a context; without one, the anonymous principal.
func PrincipalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(key{}).(Principal)
	return p
}
