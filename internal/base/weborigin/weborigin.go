// Package weborigin recognizes requests that pages of other web sites made a browser send.
// Answering them would give such pages access from the browser's place in the network, such as the
// operator's machine.
package weborigin

import (
	"net/url"
	"slices"
	"strings"
)

// Foreign reports whether a request comes from a page of a web site other than its host and the
// allowed origins, such as https://ide.example. header returns a header of the request, or "".
// Programs send neither Origin nor Sec-Fetch-Site; for an image, a script or a link browsers send
// only the latter (https://www.w3.org/TR/fetch-metadata/).
func Foreign(header func(name string) string, host string, allowed []string) bool {
	origin := header("Origin")
	if origin == "" {
		return header("Sec-Fetch-Site") == "cross-site"
	}
	return !isOf(host, origin) &&
		!slices.ContainsFunc(allowed, func(other string) bool { return strings.EqualFold(other, origin) })
}

// isOf reports whether an origin is that of a host, over HTTP or HTTPS, which a proxy may
// terminate.
func isOf(host, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}
