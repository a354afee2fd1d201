// Package weborigin tells which requests pages of other web sites have made a browser send. A server that
// answers them lends them the place that it is reached from, such as the operator's machine.
package weborigin

import (
	"net/url"
	"slices"
	"strings"
)

// Foreign reports whether a request comes from a page of another web site than that of the host that
// it is for and the allowed origins, such as https://ide.example. header returns a header of the
// request, or "". Programs send neither Origin nor Sec-Fetch-Site; for an image, a script or a link
// browsers send the second alone (https://www.w3.org/TR/fetch-metadata/).
func Foreign(header func(name string) string, host string, allowed []string) bool {
	origin := header("Origin")
	if origin == "" {
		return header("Sec-Fetch-Site") == "cross-site"
	}
	return !isOf(host, origin) &&
		!slices.ContainsFunc(allowed, func(other string) bool { return strings.EqualFold(other, origin) })
}

// isOf reports whether an origin is that of a host, over HTTP or HTTPS: a proxy may bring the latter.
func isOf(host, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}
