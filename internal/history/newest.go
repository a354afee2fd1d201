package history

import "container/heap"

// newest is a queue that returns what has the latest date first, and of several
// of one date what was added first: the default order of git-log(1).
type newest[T any] struct {
	items byDate[T]
	added int
}

type dated[T any] struct {
	date  uint64
	order int
	value T
}

func (q *newest[T]) push(date uint64, value T) {
	q.added++
	heap.Push(&q.items, dated[T]{date, q.added, value})
}

// pop takes the first; there must be one.
func (q *newest[T]) pop() T { return heap.Pop(&q.items).(dated[T]).value }

func (q *newest[T]) empty() bool { return len(q.items) == 0 }

// byDate implements heap.Interface.
type byDate[T any] []dated[T]

func (b byDate[T]) Len() int { return len(b) }

func (b byDate[T]) Less(i, j int) bool {
	if b[i].date != b[j].date {
		return b[i].date > b[j].date
	}
	return b[i].order < b[j].order
}

func (b byDate[T]) Swap(i, j int) { b[i], b[j] = b[j], b[i] }

// Push implements heap.Interface.
func (b *byDate[T]) Push(x any) { *b = append(*b, x.(dated[T])) }

// Pop implements heap.Interface.
func (b *byDate[T]) Pop() any {
	old := *b
	last := old[len(old)-1]
	old[len(old)-1] = dated[T]{}
	*b = old[:len(old)-1]
	return last
}
