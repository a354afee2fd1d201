// Package logtest has a log that a test reads while others write to it. It is imported by tests only.
package logtest

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// Log collects text, such as the log of a server, and can be read while others write to it.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// String is all that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count is the number of times that the log has the text.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }

// Await waits until a regular expression matches, and returns the first match with its groups.
func (l *Log) Await(t testing.TB, expression string) (match []string) {
	t.Helper()
	wanted := regexp.MustCompile(expression)
	if err := gittest.Wait(func() error {
		text := l.String()
		if match = wanted.FindStringSubmatch(text); match == nil {
			return fmt.Errorf("no match of %s in\n%s", wanted, text)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return match
}
