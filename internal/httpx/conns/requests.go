package conns

import "time"

// BeginRequest counts a request for a client until the connection is idle or closed, and reports
// whether there is room for it. If all places are taken, the request whose body has been waited for
// longest loses its place, if its client has at least as many connections: see [Conn.Expelled].
func (t *Conn) BeginRequest(client string) bool {
	if t == nil {
		return true
	}
	c := t.owner
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.client == nil || t.request {
		return t.request // it is closed, or has a request already
	}
	c.part(t)
	c.join(t, client)
	if client != Proxies && t.client.requests >= c.share || c.requests >= c.options.Most && !c.expelFor(t) {
		c.wait(t, &t.client.idle)
		return false
	}
	t.request, t.expelled = true, false
	t.client.requests++
	c.requests++
	return true
}

// endRequest frees the place of a request. The caller holds mu.
func (c *Connections) endRequest(t *Conn) {
	if t.request {
		t.request = false
		t.client.requests--
		c.requests--
	}
}

// Dismiss makes this the client's first connection to close. The client must have been told that
// there is no room.
func (t *Conn) Dismiss() {
	c := t.owner
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.client != nil {
		c.wait(t, &t.client.dismissed)
	}
}

// AwaitBody says that the request's body is being waited for until came is called.
func (t *Conn) AwaitBody() (came func()) {
	if t == nil {
		return func() {}
	}
	c := t.owner
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.request {
		c.wait(t, &t.client.reading)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.request {
			c.leave(t)
		}
	}
}

// Expelled reports whether the request lost its place to another one while its body was waited for.
// Reading the body fails then, and the client is to be told to come later.
func (t *Conn) Expelled() bool {
	if t == nil {
		return false
	}
	t.owner.mu.Lock()
	defer t.owner.mu.Unlock()
	return t.expelled
}

// expelFor frees the place of a request with an incomplete body, and reports whether there was one.
// The caller holds mu.
func (c *Connections) expelFor(t *Conn) bool {
	victim := c.heaviest((*client).firstReading)
	if victim == nil || victim.client == t.client || victim.client.weight() < t.client.weight() {
		return false
	}
	c.endRequest(victim)
	victim.expelled = true
	c.wait(victim, &victim.client.idle)
	_ = victim.SetReadDeadline(time.Unix(1, 0)) // it only fails for a connection that is gone
	return true
}
