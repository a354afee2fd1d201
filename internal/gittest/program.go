package gittest

import (
	"os"
	"syscall"
	"testing"
)

// WriteProgram writes a file that can be executed at once. A process that another goroutine starts
// meanwhile would inherit the open file, and executing it would fail with "text file busy".
func WriteProgram(t testing.TB, name, content string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}
