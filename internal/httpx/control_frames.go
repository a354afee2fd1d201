package httpx

import (
	"time"

	"github.com/coder/websocket"
)

const (
	// controlBurst and controlRate are how many pings and pongs a client may send at
	// once and in a second. Clients ping every few seconds at most, and answer our
	// pings; what waited on the way comes at once. Each costs an answer, and no limit
	// of requests counts it.
	controlBurst = 100
	controlRate  = 10
)

// errControlFlood is why a connection is closed whose client sends pings without an
// end.
var errControlFlood = &breach{websocket.StatusPolicyViolation, "Too many pings. Send 10 in a second at most."}

// controlFrames counts the pings and pongs of one client: a bucket that holds
// controlBurst of them and is filled at controlRate. Its reader alone uses it.
type controlFrames struct {
	used    float64 // of the bucket
	last    time.Time
	flooded bool
}

// take counts one. It is not allowed once the bucket was empty; first says that this
// was the one.
func (c *controlFrames) take(now time.Time) (allowed, first bool) {
	if c.flooded {
		return false, false
	}
	c.used = max(0, c.used-now.Sub(c.last).Seconds()*controlRate) + 1
	c.last = now
	c.flooded = c.used > controlBurst
	return !c.flooded, c.flooded
}
