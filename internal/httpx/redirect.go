package httpx

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/repomcp/repomcp/internal/resources"
)

// redirect sends a client that gets a whole content to where that is kept, if
// it can be had there. The address is a secret for a minute: no cache may keep
// it, and no log has it. A 302 makes a GET of a POST, where a 307 would send the
// message to the other server. The validators of this reply would be taken for
// those of the other.
func redirect(c echo.Context, content *resources.Content, d delivery) (done bool, err error) {
	r, h := c.Request(), c.Response().Header()
	if r.Method == http.MethodHead || d.status != http.StatusOK || r.Header.Get("Range") != "" ||
		!r.ProtoAtLeast(1, 1) {
		return false, nil
	}
	address, ok := content.Redirect(r.Context())
	if !ok {
		return false, nil
	}
	h.Set("Location", address)
	h.Set(headerResourceURI, askedURI(content))
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	return true, c.NoContent(http.StatusFound)
}
