//go:build unix

package objects

import (
	"syscall"
	"testing"
)

func makePipe(t testing.TB, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}
