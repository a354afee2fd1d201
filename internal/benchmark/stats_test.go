package main

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{1, 1, 1, 100}, 1},
	} {
		before := append([]float64(nil), test.values...)
		if got := median(test.values); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.values, got, test.want)
		}
		for i := range before {
			if before[i] != test.values[i] {
				t.Errorf("median changed the order of %v", before)
			}
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing is %v", got)
	}
}

func TestPairRatioComparesWithinRounds(t *testing.T) {
	for name, test := range map[string]struct {
		a, b []float64
		want float64
	}{
		// The machine was three times slower in the second round: the ratio of
		// the medians would be 3/2.
		"slow round":  {[]float64{1, 3, 1}, []float64{2, 6, 2}, 0.5},
		"median":      {[]float64{1, 2, 4}, []float64{2, 2, 2}, 1},
		"fewer pairs": {[]float64{1, 9, 9}, []float64{4}, 0.25},
		"zero":        {[]float64{1, 1}, []float64{0, 2}, 0.5},
	} {
		if got := pairRatio(test.a, test.b); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if got := pairRatio([]float64{1}, nil); !math.IsNaN(got) {
		t.Errorf("ratio to nothing is %v", got)
	}
}
