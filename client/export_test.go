package client

import "time"

// SetPatience is for how long a test waits for bytes, and for a stream of events.
func SetPatience(c *Client, d time.Duration) { c.idle, c.ack = d, d }
