package httpx

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
)

// A client that goes away in the moment in which its stream ends has no effect on
// the request that gets the same echo context next.
func TestUnblockedStreamLeavesTheNextRequestAlone(t *testing.T) {
	t.Parallel()
	server := echo.New()
	for range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		request := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
		c := server.NewContext(request, httptest.NewRecorder())
		stop := unblockAfter(ctx, c)
		go cancel()
		stop()
		c.Reset(httptest.NewRequestWithContext(t.Context(), "GET", "/next", nil), httptest.NewRecorder())
	}
}
