package panics_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/repomcp/repomcp/internal/base/panics"
)

func TestPanicBecomesAnError(t *testing.T) {
	var caught *panics.Error
	if err := panics.Catch(func() error { panic(io.ErrUnexpectedEOF) }); !errors.As(err, &caught) ||
		!errors.Is(err, io.ErrUnexpectedEOF) || len(caught.Stack) == 0 {
		t.Errorf("of an error: %v", err)
	}
	if err := panics.Catch(func() error { panic("text") }); !errors.As(err, &caught) || caught.Value != "text" {
		t.Errorf("of a text: %v", err)
	}
	for _, want := range []error{nil, io.EOF} {
		if err := panics.Catch(func() error { return want }); err != want { //nolint:errorlint // it is passed on as it is
			t.Errorf("without a panic: %v, want %v", err, want)
		}
	}
}

func TestWaitPanicsInPlaceOfAHelper(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := panics.NewGroup(cancel)
	ended := false
	g.Go(func() {
		<-ctx.Done()
		ended = true
	})
	g.Go(func() { panic(io.ErrUnexpectedEOF) })
	err := panics.Catch(func() error {
		g.Wait()
		return nil
	})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !ended {
		t.Errorf("%v; the other helper has ended: %v", err, ended)
	}
}
