// Package filetest lets tests use the files of package operatorfile without waiting for them to
// settle.
package filetest

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repomcp/repomcp/internal/operatorfile"
)

// Open calls what opens a file.
func Open[T any](t *testing.T, open func() (T, error)) (held T, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { held, err = open() })
	return held, err
}

// Followed is an [operatorfile.File].
type Followed interface {
	Look() (taken bool, err error)
	Reread()
}

// Settle looks at a file as often as a server does until it is taken or refused, or is seen to be
// the same as ever.
func Settle(t *testing.T, file Followed) (taken bool, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { taken, err = settle(file) })
	return taken, err
}

func settle(file Followed) (taken bool, err error) {
	for range 2 {
		if taken, err = file.Look(); taken || err != nil {
			break
		}
		time.Sleep(operatorfile.Settling)
	}
	return taken, err
}

// Write writes a text into a file in place, so that its time is another one: on some systems it counts
// in milliseconds, which pass outside of bubbles alone.
func Write(t *testing.T, path, text string) {
	t.Helper()
	before, _ := os.Stat(path) // there may be none
	for {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if before == nil || !after.ModTime().Equal(before.ModTime()) {
			return
		}
	}
}

// WriteSlowly writes a text into a file in place, a byte at a time, with rests in which the file does
// not quite settle, while a server looks at it and gets SIGHUP all the time. After each look it calls
// check with what was written. Last, the whole file is taken.
func WriteSlowly(t *testing.T, path, text string, file Followed, check func(written string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(text) + 1 {
			if i > 0 {
				if _, err := out.WriteString(text[i-1 : i]); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				file.Reread()
				if taken, _ := file.Look(); taken { // an error says that it goes on changing
					t.Errorf("it was taken after %q", text[:i])
				}
				check(text[:i])
				time.Sleep(operatorfile.Settling/2 - time.Nanosecond)
			}
		}
		if err := out.Close(); err != nil {
			t.Error(err)
		}
		if taken, err := settle(file); !taken || err != nil {
			t.Errorf("the whole file: taken %v, %v", taken, err)
		}
	})
}

// WriteInPart leaves every beginning of a text in the place of another one, for long enough to be
// taken, and calls check with each. The other one is in force again before the next.
func WriteInPart(t *testing.T, path, before, text string, file Followed, check func(written string, taken bool)) {
	t.Helper()
	for i := range len(text) + 1 {
		Write(t, path, text[:i])
		taken, _ := Settle(t, file) // most are refused
		check(text[:i], taken)
		Write(t, path, before)
		if _, err := Settle(t, file); err != nil {
			t.Fatalf("after %q: %v", text[:i], err)
		}
	}
}
