// Package processes starts programs so that none of their processes is left behind: each program has a process group of
// its own, which ends with it, and [Tail] keeps the end of its standard error.
package processes

import "strings"

// maxTailBytes bounds the end of a failed program's output in the log.
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
