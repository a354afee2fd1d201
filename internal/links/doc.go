// Package links makes and checks signed links: URLs from which one resource can be downloaded
// without MCP. It knows neither HTTP nor what a resource is.
//
// # Order of use
//
//	ring, err := links.LoadKeyring("/etc/repomcp/links.keys") // or RandomKeyring()
//	base, err := links.ParseBase("https://git.example.com")
//	authority, err := links.New(links.Options{Keys: ring, Base: base, Nonces: nonces})
//
//	token, link, err := authority.Mint(links.Grant{...})      // where access was decided
//	url := base.URL(token)
//
//	link, err := authority.Verify(token, links.Use{...})      // at /dl/{token}
//	// open link.Resource and check access to link.Repository again
//	redemption, err := authority.Redeem(ctx, link, resume)    // just before the first byte
//
// # The token
//
// A token is base64url without padding (RFC 4648, section 5) of
//
//	version 1 | key tag 8 | nonce 16 | sealed claims | HMAC 32      (bytes)
//
// The HMAC-SHA-256 is over everything before it, and is checked first. The claims are the method
// set, the resource with its commit and options, expiry, principal and the rest of [Link].
// AES-256-GCM seals them, so a bearer, a log or a proxy learns only their length in steps of 64
// bytes, and which tokens were made with the same key. The key of that seal is derived by
// HKDF-SHA-256 (RFC 5869) from the ring's key with the token's random nonce as salt: each key seals
// one token, so no number of tokens exhausts GCM's short nonces. The key tag is derived from the
// key too; it does not reveal the id in the file. GCM's own tag is redundant: it is kept because an
// AEAD without it would be a construction of our own.
//
// Each link has only one token: other alphabets, padding, line ends, trailing bits, spare bytes and
// unknown versions are refused.
//
// # Promises
//
//   - [Authority.Verify] accepts only tokens that [Authority.Mint] made with a key of the ring, for
//     the same host, and that have not expired.
//   - A single-use link is redeemed at most once among all processes that share a [Nonces],
//     whatever runs concurrently and whatever fails: if the nonces cannot be reached, the result is
//     [ErrUnavailable], never a second download.
//   - Removing a key invalidates the links that it signed, at the next Verify after the reload.
//   - No error contains a key or a part of a token.
//
// # Single use and resuming
//
// The first redemption returns a secret, which the reply carries inside its entity tag ([TagETag]).
// Until the grace after the link's expiry is over, the same download may be resumed: a request with
// Range, and with If-Range of that very tag, is accepted ([SplitETag] finds the secret). Address
// and cookies are not checked, since interrupted downloads are those of clients that change
// networks; nor can a server know which bytes have arrived. So it counts the requested bytes: all
// continuations together get at most three times the content, and each counts as a sixteenth at
// least.
//
// The price: a bearer of both the link and the headers of the first reply can read the content up
// to three times more until the grace is over. The link alone, as it stands in a log or a history,
// is worthless once it is used. A download that breaks before its headers arrive cannot be resumed;
// its client asks for a new link.
//
// # Limits
//
// Links live at most [MaxLifetime] and tokens are at most [MaxTokenBytes] long, so that their URLs
// pass common proxies. Clocks of replicas may differ by a minute. Redis must keep its data: with an
// eviction policy, or after a failover that lost writes, a link can be used again until it expires.
// With [Memory] a process redeems only the single-use links that it made itself, and keeps a byte
// for each until it is forgotten, so any number of redemptions leaves other links intact.
//
// # Decisions
//
// A link has the rights of its principal, as far as access rules name them. The rules are checked
// again at each use, so there is no list of revoked links.
package links
