package access

import "context"

type addressKey struct{}

// WithAddress returns a context of what a client at an address asks for, in the form
// that shares are counted by.
func WithAddress(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// ClientOf is what shares of the server are counted by: the id of the principal, and
// of anybody the address. It is "" where neither is known, as on a pipe.
func ClientOf(ctx context.Context) string {
	if id := PrincipalOf(ctx).ID; id != "" {
		return id
	}
	address, _ := ctx.Value(addressKey{}).(string)
	return address
}
