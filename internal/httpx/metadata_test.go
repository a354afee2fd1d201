package httpx_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/httpx"
)

// A client that runs in a page of any site may find out where tokens are from (RFC 9728), as the
// specification of authorization in MCP has it look; it is told nothing else, and only under a name of
// the server.
func TestPagesReadWhereTokensAreFrom(t *testing.T) {
	t.Parallel()
	const page = "https://page.example"
	for name, options := range map[string]httpx.Options{
		"default": {}, "with allowed origins": {AllowedOrigins: []string{"https://ide.example"}},
	} {
		d := newDoors(t, targetOptions{http: options})
		for _, path := range []string{
			"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
		} {
			preflight := d.fetch(t, http.MethodOptions, path, "Origin: "+page, "Access-Control-Request-Method: GET",
				"Access-Control-Request-Headers: mcp-protocol-version")
			allowed := strings.ToLower(preflight.header.Get("Access-Control-Allow-Headers"))
			if preflight.status != http.StatusNoContent ||
				preflight.header.Get("Access-Control-Allow-Origin") != "*" ||
				!strings.Contains(allowed, "mcp-protocol-version") {
				t.Errorf("%s, preflight of %s: %v %v", name, path, preflight, preflight.header)
			}
			for _, origin := range []string{page, "null", "https://ide.example"} {
				a := d.do(t, &call{verb: http.MethodGet, path: path, header: http.Header{
					"Origin": {origin}, "Sec-Fetch-Site": {"cross-site"}, "Authorization": {""},
				}})
				if a.status != http.StatusOK || !strings.Contains(string(a.body), d.issuer.URL) ||
					a.header.Get("Access-Control-Allow-Origin") != "*" ||
					a.header.Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("%s, %s for pages of %s: %v %v", name, path, origin, a, a.header)
				}
			}
			if a := d.do(t, &call{verb: http.MethodGet, path: path, host: "evil.example",
				header: http.Header{"Origin": {page}}}); a.status != http.StatusForbidden {
				t.Errorf("%s, %s under a foreign Host: %v", name, path, a)
			}
		}
		for _, path := range []string{
			"/mcp", "/repositories", "/mcp/server-card", "/.well-known/none",
			"/.well-known/oauth-protected-resource/other",
		} {
			if a := d.get(t, path, "Origin: "+page); a.status != http.StatusForbidden {
				t.Errorf("%s, %s for a foreign page: %v", name, path, a)
			}
		}
	}
}
