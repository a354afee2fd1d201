// Package panics keeps a panic from ending the process and all downloads with it:
// one damaged repository must not harm those who read the others.
//
// [Catch] makes a panic an error, where there is a stream to fail with it. A
// [Group] carries the panic of a helper to the goroutine that waits for it,
// where the request is answered.
package panics

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// Error is a panic as the failure of one request.
type Error struct {
	Value any    // what it panicked with
	Stack []byte // where
}

// Error has the stack too: it is for the log, and never for a client.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Unwrap returns the value of the panic when it was an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Catch returns the error of the function, or an [*Error] when it panics.
func Catch(function func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Error{Value: value, Stack: debug.Stack()}
		}
	}()
	return function()
}

// Group is the helpers of a request. When one panics, the context of all ends.
type Group struct {
	end     context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	failed error // the first panic
}

// NewGroup makes a group that calls end when a helper panics: the request and
// its other helpers must then end soon.
func NewGroup(end context.CancelFunc) *Group { return &Group{end: end} }

// Go runs a helper.
func (g *Group) Go(helper func()) {
	g.running.Go(func() {
		err := Catch(func() error {
			helper()
			return nil
		})
		if err == nil {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.failed == nil {
			g.failed = err
		}
		g.end()
	})
}

// Wait returns when all helpers have ended. It panics with the [*Error] of the
// first that panicked.
func (g *Group) Wait() {
	g.running.Wait()
	if g.failed != nil {
		panic(g.failed)
	}
}
