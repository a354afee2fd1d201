package workers

import "time"

// notReady is the place of an entry that is not ready.
const notReady = -1

// turn orders clients, and the queues of a client.
type turn struct {
	tag     time.Duration // spent on it by workers
	arrived uint64        // breaks ties in turn
	place   int           // index among the ready entries
}

func (t *turn) at() *turn { return t }

// client has queues that share one part of the workers. A queue without a client name has a client
// of its own.
type client struct {
	turn
	name   string
	ready  turns         // its queues with pending tasks
	queues int           // open queues
	clock  time.Duration // the tag of the queue that was served last
}

// turns is a heap of clients, or of the queues of one, next turn first.
type turns []interface{ at() *turn }

func (r turns) Len() int { return len(r) }

func (r turns) Less(i, j int) bool {
	a, b := r[i].at(), r[j].at()
	if a.tag != b.tag {
		return a.tag < b.tag
	}
	return a.arrived < b.arrived
}

func (r turns) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].at().place, r[j].at().place = i, j
}

func (r *turns) Push(v any) {
	added := v.(interface{ at() *turn })
	added.at().place = len(*r)
	*r = append(*r, added)
}

func (r *turns) Pop() any {
	last := len(*r) - 1
	v := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	v.at().place = notReady
	return v
}
