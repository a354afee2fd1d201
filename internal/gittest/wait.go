package gittest

import (
	"errors"
	"net"
	"testing"
	"time"
)

// Patience bounds a wait that would never end. It asserts no speed: busy machines are slow.
const Patience = 2 * time.Minute

// Wait calls check again and again until it returns nil, for a state that no event announces. It
// returns the last error when [Patience] ends.
func Wait(check func() error) error {
	for end := time.Now().Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		if err := check(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// WaitForListener waits until a process in the background accepts connections at a TCP address.
func WaitForListener(address string) error {
	return Wait(func() error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

var errAwaited = errors.New("waited in vain")

// Await waits until a condition holds, like [Wait], and fails the test otherwise.
func Await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	err := Wait(func() error {
		if condition() {
			return nil
		}
		return errAwaited
	})
	if err != nil {
		t.Fatalf("%v: %s", err, what)
	}
}
