package conns

import "container/list"

// Proxies is the client whose name stands for all trusted proxies: they have no share, and
// their connections are the last to be closed, since each carries requests of many clients.
const Proxies = "proxies"

// client is one of those that share the connections.
type client struct {
	name     string
	open     int // connections
	requests int // that have begun

	// Connections that can be closed for others, the one first that has waited longest.
	idle      list.List // that have no whole header of a request
	dismissed list.List // that were told to come later
	reading   list.List // whose request lacks a part of its body
}

// firstIdle is the connection that goes before all others of the client, or nil.
func (c *client) firstIdle() *list.Element {
	if first := c.dismissed.Front(); first != nil {
		return first
	}
	return c.idle.Front()
}

// firstReading is the request that goes before all others of the client, or nil.
func (c *client) firstReading() *list.Element { return c.reading.Front() }

// weight is by how much a client goes before others where one has to lose a connection.
func (c *client) weight() int {
	if c.name == Proxies {
		return 0
	}
	return c.open
}

// join counts a connection for a client. The caller holds mu, as with all below.
func (c *Connections) join(t *Conn, name string) {
	of := c.clients[name]
	if of == nil {
		of = &client{name: name}
		c.clients[name] = of
	}
	of.open++
	t.client = of
}

// part takes a connection from its client.
func (c *Connections) part(t *Conn) {
	c.leave(t)
	if t.client.open--; t.client.open == 0 {
		delete(c.clients, t.client.name)
	}
	t.client = nil
}

// wait puts a connection behind all others of a list of its client.
func (c *Connections) wait(t *Conn, in *list.List) {
	c.leave(t)
	c.arrivals++
	t.arrived, t.list, t.place = c.arrivals, in, in.PushBack(t)
}

func (c *Connections) leave(t *Conn) {
	if t.list != nil {
		t.list.Remove(t.place)
		t.list, t.place = nil, nil
	}
}

// heaviest is the first connection, of those that clients have, of the client with most
// connections; of several such clients the one that has waited longest. It looks at each client, which takes
// a fifth of a millisecond where ten thousand have one connection each. It is asked for where
// the server is full alone.
func (c *Connections) heaviest(firstOf func(*client) *list.Element) (first *Conn) {
	for _, client := range c.clients {
		front := firstOf(client)
		if front == nil {
			continue
		}
		t := front.Value.(*Conn)
		if first == nil || client.weight() > first.client.weight() ||
			client.weight() == first.client.weight() && t.arrived < first.arrived {
			first = t
		}
	}
	return first
}
