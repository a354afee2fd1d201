package operatorfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repomcp/repomcp/internal/base/operatorfile"
	"github.com/repomcp/repomcp/internal/base/operatorfile/filetest"
)

// held is a file whose contents are its text; "no" cannot be understood.
type held struct {
	*operatorfile.File[string]
	t    *testing.T
	path string
}

const maxBytes = 100

func parse(text []byte) (string, error) {
	if strings.HasPrefix(string(text), "no") {
		return "", errors.New("it says no")
	}
	return string(text), nil
}

// inBubble runs a test of a file that says "old", with a clock of its own.
func inBubble(t *testing.T, test func(h *held)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	synctest.Test(t, func(t *testing.T) {
		h := &held{t: t, path: path}
		h.write("old\n")
		var err error
		if h.File, err = operatorfile.Open(path, "words", maxBytes, parse); err != nil {
			t.Fatal(err)
		}
		test(h)
	})
}

// write writes into the file, in place.
func (h *held) write(text string) {
	h.t.Helper()
	filetest.Write(h.t, h.path, text)
}

// expect looks at the file, which then has to say something, and to have been refused for a reason
// that is told now; "" is none.
func (h *held) expect(taken bool, says, told string) {
	h.t.Helper()
	got, err := h.Look()
	if got != taken || h.Value() != says || (err == nil) != (told == "") ||
		err != nil && !strings.Contains(err.Error(), told) {
		h.t.Errorf("taken %v, %q, %v; want %v, %q, %q", got, h.Value(), err, taken, says, told)
	}
}

// settle waits until what was seen has settled, looks, and expects.
func (h *held) settle(taken bool, says, told string) {
	h.t.Helper()
	h.expect(false, h.Value(), "")
	time.Sleep(operatorfile.Settling)
	h.expect(taken, says, told)
}

func TestAFileIsTakenWhenItHasSettled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(h *held) {
		h.expect(false, "old\n", "")
		h.write("new\n")
		h.expect(false, "old\n", "")
		time.Sleep(operatorfile.Settling - time.Nanosecond)
		h.expect(false, "old\n", "")
		time.Sleep(time.Nanosecond)
		h.expect(true, "new\n", "")
		h.expect(false, "new\n", "")
		// Each further write restarts the time.
		for _, more := range []string{"a\n", "a\nb\n", "a\nb\nc\n"} {
			h.write(more)
			h.expect(false, "new\n", "")
			time.Sleep(operatorfile.Settling - time.Nanosecond)
			h.expect(false, "new\n", "")
		}
		time.Sleep(operatorfile.Settling)
		h.expect(true, "a\nb\nc\n", "")
	})
}

// SIGHUP has a file read that seems to be the same, and does not shorten its time.
func TestAFileIsReadAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(h *held) {
		h.Reread()
		h.settle(true, "old\n", "")
		h.write("new\n")
		for range 9 {
			h.Reread()
			h.expect(false, "old\n", "")
			time.Sleep(operatorfile.Settling / 10)
		}
		h.Reread()
		h.expect(false, "old\n", "")
		time.Sleep(operatorfile.Settling / 10)
		h.Reread()
		h.expect(true, "new\n", "")
	})
}

func TestAFileIsRefusedAndToldOfOnce(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"": "empty", "\n \n": "empty", "new": "no end", "new\nmore": "no end", "no\n": "it says no",
	} {
		inBubble(t, func(h *held) {
			h.write(text)
			h.settle(false, "old\n", why)
			if err := h.Fault(); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%q: the fault is %v", text, err)
			}
			h.settle(false, "old\n", "")
			h.Reread()
			h.settle(false, "old\n", why)
			h.write("new\n")
			h.settle(true, "new\n", "")
			if h.Fault() != nil {
				t.Errorf("a good file after %q: %v", text, h.Fault())
			}
		})
	}
}

// An unreadable file is reported once, and followed when it can be read.
func TestAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for why, spoil := range map[string]func(path string) error{
		"no such file":   func(string) error { return nil },
		"read twice":     func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"file that can":  func(path string) error { return os.Mkdir(path, 0o700) },
		"more than 100 ": func(path string) error { return os.WriteFile(path, make([]byte, maxBytes+1), 0o600) },
	} {
		inBubble(t, func(h *held) {
			if err := errors.Join(os.Remove(h.path), spoil(h.path)); err != nil {
				t.Fatal(err)
			}
			h.expect(false, "old\n", why)
			h.expect(false, "old\n", "")
			h.Reread()
			h.expect(false, "old\n", why)
			if h.Fault() == nil {
				t.Errorf("%s: no fault", why)
			}
			_ = os.Remove(h.path) // there may be none
			h.write("old\n")
			h.settle(true, "old\n", "")
			if h.Fault() != nil {
				t.Errorf("after %s: %v", why, h.Fault())
			}
		})
	}
	if _, err := operatorfile.Open("/nonexistent/file", "words", maxBytes, parse); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
}

// rsync --inplace --times leaves a file whose size and time are those of before.
func TestAChangeOfTheSameSizeAndTimeIsSeen(t *testing.T) {
	t.Parallel()
	inBubble(t, func(h *held) {
		before, err := os.Stat(h.path)
		if err != nil {
			t.Fatal(err)
		}
		h.write("new\n")
		if err := os.Chtimes(h.path, before.ModTime(), before.ModTime()); err != nil || h.text() != "new\n" {
			t.Fatal(err)
		}
		h.settle(true, "new\n", "")
	})
}

func TestAFileThatGoesOnChangingIsToldOf(t *testing.T) {
	t.Parallel()
	inBubble(t, func(h *held) {
		told := 0
		for i := range 30 {
			h.write(strings.Repeat("x\n", i+1))
			taken, err := h.Look()
			if err != nil && strings.Contains(err.Error(), "changing") {
				told++
			}
			if taken || h.Value() != "old\n" || err != nil && told != 1 {
				t.Errorf("after %d changes: taken %v, %q, %v", i, taken, h.Value(), err)
			}
			time.Sleep(operatorfile.Settling - time.Nanosecond)
		}
		if told != 1 || h.Fault() == nil {
			t.Errorf("it was told of %d times; the fault is %v", told, h.Fault())
		}
		time.Sleep(time.Nanosecond)
		h.expect(true, h.text(), "")
		if h.Fault() != nil {
			t.Error(h.Fault())
		}
	})
}

func (h *held) text() string {
	h.t.Helper()
	text, err := os.ReadFile(h.path)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// The server starts with a file that is whole: at once where that is old, and otherwise when it
// has settled.
func TestOpenWaitsForAFileToSettle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		go func() {
			time.Sleep(operatorfile.Settling / 2)
			if err := os.WriteFile(path, []byte("half\nwhole\n"), 0o600); err != nil {
				t.Error(err)
			}
		}()
		began := time.Now()
		f, err := operatorfile.Open(path, "words", maxBytes, parse)
		if err != nil || f.Value() != "half\nwhole\n" || time.Since(began) != 2*operatorfile.Settling {
			t.Errorf("after %v: %v, %v", time.Since(began), f, err)
		}
		const century = 100 * 365 * 24 * time.Hour // the file is of now, and the clock of 2000
		time.Sleep(century)
		began = time.Now()
		if _, err := operatorfile.Open(path, "words", maxBytes, parse); err != nil || time.Since(began) != 0 {
			t.Errorf("a file that is old, after %v: %v", time.Since(began), err)
		}
	})
	for text, why := range map[string]string{"": "empty", "half": "no end", "no\n": "it says no"} {
		synctest.Test(t, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := operatorfile.Open(path, "words", maxBytes, parse); err == nil ||
				!strings.Contains(err.Error(), why) {
				t.Errorf("%q: %v, want %s", text, err, why)
			}
		})
	}
}

func TestNoFileSaysNothing(t *testing.T) {
	t.Parallel()
	var none *operatorfile.File[string]
	fixed := operatorfile.Fixed("fixed")
	for want, f := range map[string]*operatorfile.File[string]{"": none, "fixed": fixed} {
		f.Reread()
		if taken, err := f.Look(); taken || err != nil || f.Fault() != nil || f.Value() != want {
			t.Errorf("%q: taken %v, %v, %v", f.Value(), taken, err, f.Fault())
		}
	}
}
