package fastopen

import (
	"net"
	"net/http"
	"time"
)

// dialTimeout is that of [http.DefaultTransport].
const dialTimeout = 30 * time.Second

// Client is as [http.DefaultClient], but for how it opens connections.
func Client() *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultClient // which somebody has replaced
	}
	transport = transport.Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout, Control: dial}).DialContext
	return &http.Client{Transport: transport}
}
