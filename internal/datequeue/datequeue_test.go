package datequeue

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestValuesComeByGenerationDateAndOrder(t *testing.T) {
	type value struct {
		generation, date uint64
		order            int
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q Queue[value]
		var want []value
		for order := range r.IntN(60) {
			v := value{uint64(r.IntN(3)), uint64(r.IntN(5)), order}
			if v.generation == 0 {
				q.Push(v.date, v)
			} else {
				q.PushGeneration(v.generation, v.date, v)
			}
			want = append(want, v)
		}
		slices.SortFunc(want, func(a, b value) int {
			return cmp.Or(cmp.Compare(b.generation, a.generation), cmp.Compare(b.date, a.date), a.order-b.order)
		})
		if n := len(slices.Collect(q.Values())); n != len(want) {
			t.Fatalf("%d values, want %d", n, len(want))
		}
		for _, w := range want {
			if q.Empty() || q.Date() != w.date {
				t.Fatalf("the first is not of %d", w.date)
			}
			if got := q.Pop(); got != w {
				t.Fatalf("got %+v, want %+v", got, w)
			}
		}
		if !q.Empty() {
			t.Fatal("something is left")
		}
	}
}
