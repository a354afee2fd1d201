// Package panics keeps a panic from ending the process and all downloads with it: one damaged
// repository must not harm clients of the others.
//
// [Catch] turns a panic into an error, so that only its stream fails. A [Group] passes the panic of
// a helper goroutine to the goroutine that waits for it, where the request is answered.
package panics

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// Error is a panic as the error of one request.
type Error struct {
	Value any    // value of the panic
	Stack []byte // its stack trace
}

// Error returns a message with the stack: it is for the log, and never for a client.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Unwrap returns the value of the panic if it is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Catch returns the error of the function, or an [*Error] if it panics.
func Catch(function func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Error{Value: value, Stack: debug.Stack()}
		}
	}()
	return function()
}

// Group runs the helper goroutines of a request. A panic of one ends their context.
type Group struct {
	end     context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	failed error // the first panic
}

// NewGroup returns a group that calls end when a helper panics: the request and its other helpers
// must then end soon.
func NewGroup(end context.CancelFunc) *Group { return &Group{end: end} }

// Go starts a helper.
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

// Wait waits for all helpers. It panics with the [*Error] of the first panic.
func (g *Group) Wait() {
	g.running.Wait()
	if g.failed != nil {
		panic(g.failed)
	}
}
