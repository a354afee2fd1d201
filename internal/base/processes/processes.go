// Package processes starts programs of the operator so that nothing of them is left behind: each has a group of
// its own, which ends with it, and of what it says on its standard error the end is kept.
package processes

import "strings"

// maxTailBytes is what of a program's words has room in a line of a log.
const maxTailBytes = 500

// Tail keeps the end of what is written. The zero value is ready to use, by one goroutine at a time.
type Tail struct{ last []byte }

// Write implements [io.Writer], and never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.last = append(t.last, b[max(0, len(b)-maxTailBytes):]...)
	t.last = t.last[max(0, len(t.last)-maxTailBytes):]
	return len(b), nil
}

func (t *Tail) String() string {
	return strings.TrimSpace(strings.ToValidUTF8(string(t.last), "\uFFFD"))
}
