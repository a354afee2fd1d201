package main

import (
	"math"
	"slices"
)

// median of the values; NaN when there are none. The values keep their order.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// pairRatio is the median of a[i]/b[i]: both of one pair were measured in the
// same round, so what slowed the machine in that round slowed both. Rounds that
// only one of them took part in are left out.
func pairRatio(a, b []float64) float64 {
	ratios := make([]float64, 0, len(a))
	for i, v := range a {
		if i < len(b) && b[i] != 0 {
			ratios = append(ratios, v/b[i])
		}
	}
	return median(ratios)
}
