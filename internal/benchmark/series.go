package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// contestant is one way of getting the same thing.
type contestant struct {
	name   string
	absent string // why it cannot take part, or ""
	rounds int    // at most so many; 0 means all
	run    func(ctx context.Context) (usage, error)
}

// series is what the rounds of one comparison found.
type series struct {
	order []string // of the contestants
	runs  map[string][]usage
	notes map[string]string // why a contestant has no figures
	errs  []error
}

// interleave runs all contestants in each round, in one order and then in the
// other, so that none always follows the same one. A contestant that fails is
// left out from then on; the others go on.
func interleave(ctx context.Context, rounds int, list []contestant, progress func(text string)) (series, error) {
	s := series{runs: map[string][]usage{}, notes: map[string]string{}}
	for _, c := range list {
		s.order = append(s.order, c.name)
		if c.absent != "" {
			s.notes[c.name] = c.absent
		}
	}
	for round := range rounds {
		turn := slices.Clone(list)
		if round%2 == 1 {
			slices.Reverse(turn)
		}
		for _, c := range turn {
			if s.notes[c.name] != "" || c.rounds > 0 && round >= c.rounds {
				continue
			}
			u, err := c.run(ctx)
			if ctx.Err() != nil {
				return s, context.Cause(ctx)
			}
			s.take(c.name, u, err)
			progress(fmt.Sprintf("round %d of %d, %s: %.2f s", round+1, rounds, c.name, u.wall.Seconds()))
		}
	}
	return s, nil
}

func (s *series) take(name string, u usage, err error) {
	if err != nil {
		s.notes[name] = "failed"
		s.errs = append(s.errs, fmt.Errorf("%s: %w", name, err))
		delete(s.runs, name)
		return
	}
	s.runs[name] = append(s.runs[name], u)
}

func (s series) failures() error { return errors.Join(s.errs...) }

// values of one contestant, round by round.
func (s series) values(name string, of func(usage) float64) []float64 {
	values := make([]float64, 0, len(s.runs[name]))
	for _, u := range s.runs[name] {
		values = append(values, of(u))
	}
	return values
}

// median of a contestant; NaN when it has no figures.
func (s series) median(name string, of func(usage) float64) float64 {
	return median(s.values(name, of))
}

// ratio of one contestant to another, by the pairs of the rounds.
func (s series) ratio(name, to string, of func(usage) float64) float64 {
	return pairRatio(s.values(name, of), s.values(to, of))
}

// worst is the greatest median of the contestants that have figures.
func (s series) worst(of func(usage) float64, names ...string) float64 {
	worst := math.NaN()
	for _, name := range names {
		if m := s.median(name, of); math.IsNaN(worst) || m > worst {
			worst = m
		}
	}
	return worst
}
