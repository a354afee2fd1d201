package tokens

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/base/operatorfile"
	"github.com/repomcp/repomcp/internal/base/operatorfile/filetest"
)

// written is a file of tokens before and after a change: frank loses a group whose name begins like
// another one, carol gets an end, which has passed, and dave goes.
type written struct {
	path, before, after string
	store               *Store
	tokens              []string
}

func newWritten(t *testing.T) *written {
	t.Helper()
	w := &written{path: filepath.Join(t.TempDir(), "tokens")}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var before, after []Entry
	for _, c := range []struct {
		name       string
		old, young string // groups
		life       time.Duration
	}{
		{"frank", "staff", "staff-readonly", 0}, {"carol", "staff", "staff", time.Minute}, {"dave", "staff", "", 0},
	} {
		token, e, err := New(c.name, []string{c.old}, 0, now.Add(-time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		w.tokens, before = append(w.tokens, token), append(before, e)
		if c.life > 0 {
			e.Expires = e.Created.Add(c.life)
		}
		if e.Groups = []string{c.young}; c.young != "" {
			after = append(after, e)
		}
	}
	lines := func(list []Entry) string {
		var all strings.Builder
		for _, e := range list {
			all.WriteString(e.line() + "\n")
		}
		return all.String()
	}
	w.before, w.after = lines(before), "# who has which\n"+lines(after)
	filetest.Write(t, w.path, w.before)
	var err error
	if w.store, err = open(t, w.path, nil, func() time.Time { return now }); err != nil {
		t.Fatal(err)
	}
	return w
}

// known are the principals that are let in, with their groups.
func (w *written) known(t *testing.T) (list []string) {
	t.Helper()
	for _, token := range w.tokens {
		if who, err := w.store.Authenticate(t.Context(), token); err == nil {
			list = append(list, who.ID+" "+strings.Join(who.Groups, ","))
		}
	}
	return list
}

// While tokens are written, those before are in force, however slowly that goes and whenever SIGHUP
// comes.
func TestTokensThatAreBeingWrittenLetNobodyIn(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	before := w.known(t)
	filetest.WriteSlowly(t, w.path, w.after, w.store, func(text string) {
		if got := w.known(t); !slices.Equal(got, before) {
			t.Errorf("after %q: %q, want %q", text, got, before)
		}
	})
	if got := w.known(t); len(before) != 3 || !slices.Equal(got, []string{"token:frank staff-readonly"}) {
		t.Errorf("at first %q, at the end %q", before, got)
	}
}

// A file whose writer has died is refused, or admits some of the tokens of the complete file.
func TestTokensThatWereWrittenInPartLetNobodyElseIn(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	before, parts := w.known(t), 0
	filetest.WriteInPart(t, w.path, w.before, w.after, w.store, func(text string, taken bool) {
		if !taken {
			if got := w.known(t); !slices.Equal(got, before) {
				t.Errorf("%q was refused, and %q are known", text, got)
			}
			return
		}
		parts++
		for _, who := range w.known(t) {
			if who != "token:frank staff-readonly" {
				t.Errorf("%q lets in %s", text, who)
			}
		}
	})
	if parts != 3 {
		t.Errorf("%d beginnings of 3 lines were taken", parts)
	}
}

// The last token goes as the others do: an empty file would be refused.
func TestTheLastTokenIsRevoked(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	for _, name := range []string{"frank", "dave", "carol"} {
		if err := Remove(w.path, name); err != nil {
			t.Fatal(err)
		}
	}
	if taken, err := filetest.Settle(t, w.store); !taken || err != nil || len(w.known(t)) != 0 {
		t.Errorf("taken %v, %v; %q are let in", taken, err, w.known(t))
	}
	if err := operatorfile.CheckEnd([]byte(read(t, w.path))); err != nil {
		t.Error(err)
	}
	w.tokens = []string{add(t, w.path, "erin", 0, time.Now())}
	if taken, err := filetest.Settle(t, w.store); !taken || err != nil || len(w.known(t)) != 1 {
		t.Errorf("taken %v, %v; %q are let in", taken, err, w.known(t))
	}
}

// Commands do not end a line that another program may still be writing, nor make of nothing a file
// that is believed.
func TestAFileThatIsCutIsNotChanged(t *testing.T) {
	t.Parallel()
	w := newWritten(t)
	_, e, err := New("new", nil, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cut := strings.TrimSuffix(w.before, "\n")
	filetest.Write(t, w.path, cut)
	if Add(w.path, e) == nil || Remove(w.path, "frank") == nil || read(t, w.path) != cut {
		t.Error("a file that is cut was changed")
	}
	if _, err := List(w.path); err == nil {
		t.Error("a file that is cut is listed")
	}
}
