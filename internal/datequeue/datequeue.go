// Package datequeue is a queue of commits for walks through history.
package datequeue

import "iter"

// Queue returns values by the highest generation first, then by the latest date,
// then in the order in which they were added. The zero value is empty.
type Queue[T any] struct {
	items []item[T] // a binary heap
	added int
}

type item[T any] struct {
	generation, date uint64
	order            int
	value            T
}

func (i *item[T]) before(j *item[T]) bool {
	switch {
	case i.generation != j.generation:
		return i.generation > j.generation
	case i.date != j.date:
		return i.date > j.date
	default:
		return i.order < j.order
	}
}

// Push adds a value whose generation is not known.
func (q *Queue[T]) Push(date uint64, value T) { q.PushGeneration(0, date, value) }

// PushGeneration adds a value.
func (q *Queue[T]) PushGeneration(generation, date uint64, value T) {
	q.added++
	q.items = append(q.items, item[T]{generation, date, q.added, value})
	for i := len(q.items) - 1; i > 0; {
		above := (i - 1) / 2
		if !q.items[i].before(&q.items[above]) {
			return
		}
		q.items[i], q.items[above] = q.items[above], q.items[i]
		i = above
	}
}

// Pop removes the first value; there must be one.
func (q *Queue[T]) Pop() T {
	first, last := q.items[0].value, len(q.items)-1
	q.items[0], q.items[last] = q.items[last], item[T]{}
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

// Empty reports whether there are no values.
func (q *Queue[T]) Empty() bool { return len(q.items) == 0 }

// Date returns the date of the first value; there must be one.
func (q *Queue[T]) Date() uint64 { return q.items[0].date }

// Values iterates over all values in any order.
func (q *Queue[T]) Values() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range q.items {
			if !yield(q.items[i].value) {
				return
			}
		}
	}
}
