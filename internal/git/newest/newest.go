// Package newest has the priority queue of walks through history.
package newest

import "iter"

// Queue is ordered by rank, then by date, both descending, and then by insertion. The zero Queue is
// empty.
type Queue[T any] struct {
	items []dated[T] // a binary heap
	added int
}

type dated[T any] struct {
	rank, date uint64
	order      int
	value      T
}

func (d *dated[T]) before(o *dated[T]) bool {
	switch {
	case d.rank != o.rank:
		return d.rank > o.rank
	case d.date != o.date:
		return d.date > o.date
	default:
		return d.order < o.order
	}
}

// Push adds a value with its date, in seconds since 1970.
func (q *Queue[T]) Push(date uint64, value T) { q.PushRanked(0, date, value) }

// PushRanked adds a value with a rank, such as a generation, that takes precedence over the date.
func (q *Queue[T]) PushRanked(rank, date uint64, value T) {
	q.added++
	q.items = append(q.items, dated[T]{rank, date, q.added, value})
	for i := len(q.items) - 1; i > 0; {
		above := (i - 1) / 2
		if !q.items[i].before(&q.items[above]) {
			return
		}
		q.items[i], q.items[above] = q.items[above], q.items[i]
		i = above
	}
}

// Pop removes and returns the first value; the queue must not be empty.
func (q *Queue[T]) Pop() T {
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

// Len returns the number of values.
func (q *Queue[T]) Len() int { return len(q.items) }

// Date returns the date of the first value; the queue must not be empty.
func (q *Queue[T]) Date() uint64 { return q.items[0].date }

// All yields the values in no particular order.
func (q *Queue[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range q.items {
			if !yield(q.items[i].value) {
				return
			}
		}
	}
}
