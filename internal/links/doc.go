// Package links makes and checks signed links: addresses under which one
// resource can be downloaded without speaking MCP. It knows neither HTTP nor
// what a resource is.
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
// The HMAC-SHA-256 is over everything before it, and is looked at first. The
// claims are the method set, the resource with its commit and options, expiry,
// principal and the rest of [Link]; AES-256-GCM seals them, so that a bearer,
// a log or a proxy learns nothing but when two tokens were made with the same
// key, and their length in steps of 64 bytes. The key of that seal is derived
// by HKDF-SHA-256 (RFC 5869) from the ring's key with the token's random nonce
// as salt: each key seals one token, so no number of tokens wears out GCM's
// short nonces. The key tag is derived from the key too; the id in the file is
// not readable from it. GCM's own tag signs nothing here: it is kept since an
// AEAD without it would be a construction of our own.
//
// There is one token for a link: other alphabets, padding, line ends, trailing
// bits, spare bytes and unknown versions are refused.
//
// # Promises
//
//   - What [Authority.Verify] accepts, some [Authority.Mint] with a key of the
//     ring has made, for the same host, and has not expired.
//   - A single-use link is redeemed at most once among all who share a
//     [Nonces], whatever runs at once and whatever fails: when the nonces cannot
//     be reached the answer is [ErrUnavailable], never a second download.
//   - Removing a key ends the links that it signed, at the next Verify after the reload.
//   - No error names a key or a part of a token.
//
// # Single use and resuming
//
// The first redemption hands out a secret, which the reply carries inside its
// entity tag ([TagETag]). Until the grace after the link's expiry is over the same
// download may go on: a request with Range, and with If-Range of that very tag, is
// let through ([SplitETag] finds the secret). Neither an address nor a cookie is
// asked for, since the downloads that break are those of clients that change
// networks; nor can a server know what of its bytes has arrived. So it counts what
// is asked for: all continuations together get at most three times the content,
// and each counts as a sixteenth at least.
//
// The price: whoever has both the link and the headers of the first reply can
// read it again up to three times until the grace is over. The link alone, as it
// stands in a log or a history, is worth nothing once it is used. A download that
// breaks before its headers arrived cannot go on; its client asks for a new link.
//
// # Limits
//
// Links live at most [MaxLifetime] and tokens are at most [MaxTokenBytes] long,
// so that a URL with one passes common proxies. Clocks of replicas may differ by
// a minute. Redis must keep what it was given: with an eviction policy, or after
// a failover that lost writes, a link can be used again until it expires. With
// [Memory] a process redeems only the single-use links that it made itself, and
// keeps a byte for each until it is forgotten: redeeming takes nothing from
// others, however many there are.
//
// # Decisions
//
// A link has the rights of its principal, as far as access rules name them. They are checked again
// at each use, so that there is no list of revoked links.
package links
