package access

import "context"

type addressKey struct{}

// WithAddress adds a client's address to a context, in the form used for fair shares.
func WithAddress(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// ClientOf returns the key for fair shares: the id of the principal, or else the address. It is ""
// if neither is known, as on a pipe.
func ClientOf(ctx context.Context) string {
	if id := PrincipalOf(ctx).ID; id != "" {
		return id
	}
	address, _ := ctx.Value(addressKey{}).(string)
	return address
}
