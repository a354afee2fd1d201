package client

import (
	"context"
	"time"
)

// SetPatience is for how long a test waits for bytes, and for a stream of events.
func SetPatience(c *Client, d time.Duration) { c.idle, c.ack = d, d }

// SplitCommand is splitCommand.
var SplitCommand = splitCommand

// BreakConnection breaks the connection of a client, as a network does.
func BreakConnection(c *Client) {
	conn := c.reach().(*connection)
	conn.turn <- struct{}{}
	defer func() { <-conn.turn }()
	_ = conn.carrier.(*socket).conn.CloseNow()
}

// LookAgainAfter is lookAgainAfter.
const LookAgainAfter = lookAgainAfter

// IsSame is State.isSame.
func IsSame(a, b State) bool { return a.isSame(b) }

// CommitOf is what a URI or an address says of the commit.
var CommitOf = commitOf

// HasEnd reports whether the form of some bytes says that they are whole.
func HasEnd(content []byte) bool {
	f := &form{ctx: context.Background()}
	defer f.close()
	for ; len(content) > 1000; content = content[1000:] {
		f.see(content[:1000])
	}
	f.see(content)
	return f.isWhole()
}
