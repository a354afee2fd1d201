package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

func TestInterleaveAlternatesAndGoesOnWithoutTheFailed(t *testing.T) {
	var order []string
	broken := errors.New("broken")
	running := func(name string, failAt int) contestant {
		round := 0
		return contestant{name: name, run: func(context.Context) (usage, error) {
			order = append(order, name)
			if round++; round == failAt {
				return usage{}, broken
			}
			return usage{wall: time.Duration(round) * time.Second}, nil
		}}
	}
	once := running("once", 0)
	once.rounds = 1
	s, err := interleave(t.Context(), 3, []contestant{
		running("x", 0), running("fails", 2), once, {name: "missing", absent: "not installed"}, running("y", 0),
	}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"x", "fails", "once", "y", "y", "fails", "x", "x", "y"}; !slices.Equal(order, want) {
		t.Errorf("order was %v, want %v", order, want)
	}
	if !errors.Is(s.failures(), broken) || s.notes["fails"] == "" || len(s.runs["fails"]) != 0 {
		t.Errorf("the failure is not told: %v, %v", s.failures(), s.notes)
	}
	if s.notes["missing"] != "not installed" {
		t.Errorf("notes are %v", s.notes)
	}
	if got := s.median("x", wallOf); got != 2 {
		t.Errorf("median of x is %v, want 2", got)
	}
	if got := s.ratio("once", "x", wallOf); got != 1 {
		t.Errorf("ratio of once to x is %v, want that of the first round", got)
	}
	if got := s.worst(wallOf, "missing", "once", "x"); got != 2 {
		t.Errorf("worst is %v, want 2", got)
	}
	if got := s.worst(wallOf, "missing"); !math.IsNaN(got) {
		t.Errorf("worst of nothing is %v", got)
	}
}

func TestInterleaveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stopping := contestant{name: "x", run: func(context.Context) (usage, error) {
		cancel()
		return usage{}, errors.New("killed")
	}}
	if _, err := interleave(ctx, 5, []contestant{stopping}, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}
