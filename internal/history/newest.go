package history

// newest is a queue that returns what has the highest generation first, of those
// what has the latest date, and of those what was added first.
type newest[T any] struct {
	items []dated[T] // a binary heap
	added int
}

type dated[T any] struct {
	generation, date uint64
	order            int
	value            T
}

func (d *dated[T]) before(o *dated[T]) bool {
	switch {
	case d.generation != o.generation:
		return d.generation > o.generation
	case d.date != o.date:
		return d.date > o.date
	default:
		return d.order < o.order
	}
}

// push adds what has no generation.
func (q *newest[T]) push(date uint64, value T) { q.pushOf(0, date, value) }

func (q *newest[T]) pushOf(generation, date uint64, value T) {
	q.added++
	q.items = append(q.items, dated[T]{generation, date, q.added, value})
	for i := len(q.items) - 1; i > 0; {
		above := (i - 1) / 2
		if !q.items[i].before(&q.items[above]) {
			return
		}
		q.items[i], q.items[above] = q.items[above], q.items[i]
		i = above
	}
}

// pop takes the first; there must be one.
func (q *newest[T]) pop() T {
	first, last := q.items[0].value, len(q.items)-1
	q.items[0], q.items[last] = q.items[last], dated[T]{}
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

func (q *newest[T]) empty() bool { return len(q.items) == 0 }
