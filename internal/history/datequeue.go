package history

// dateQueue returns values by the highest generation first, then by the latest date,
// then in the order in which they were added.
type dateQueue[T any] struct {
	items []queueItem[T] // a binary heap
	added int
}

type queueItem[T any] struct {
	generation, date uint64
	order            int
	value            T
}

func (d *queueItem[T]) before(o *queueItem[T]) bool {
	switch {
	case d.generation != o.generation:
		return d.generation > o.generation
	case d.date != o.date:
		return d.date > o.date
	default:
		return d.order < o.order
	}
}

// push adds a value without a generation.
func (q *dateQueue[T]) push(date uint64, value T) { q.pushOf(0, date, value) }

func (q *dateQueue[T]) pushOf(generation, date uint64, value T) {
	q.added++
	q.items = append(q.items, queueItem[T]{generation, date, q.added, value})
	for i := len(q.items) - 1; i > 0; {
		above := (i - 1) / 2
		if !q.items[i].before(&q.items[above]) {
			return
		}
		q.items[i], q.items[above] = q.items[above], q.items[i]
		i = above
	}
}

// pop removes the first value; there must be one.
func (q *dateQueue[T]) pop() T {
	first, last := q.items[0].value, len(q.items)-1
	q.items[0], q.items[last] = q.items[last], queueItem[T]{}
	q.items = q.items[:last]
	for i := 0; ; {
		below := 2*i + 1
		if below+1 < last && q.items[below+1].before(&q.items[below]) {
			below++
		}
		if below >= last || !q.items[below].before(&q.items[i]) {
			return first
		}
		q.items[i], q.items[below] = q.items[below], q.items[i]
		i = below
	}
}

func (q *dateQueue[T]) empty() bool { return len(q.items) == 0 }
