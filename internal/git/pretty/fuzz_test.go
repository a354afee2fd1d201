package pretty_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/pretty"
	"github.com/repomcp/repomcp/internal/git/subst"
)

// FuzzAppend expands any content with any commit: it never panics, is bounded,
// says only errors of its own, gives the same twice, and leaves alone what has
// no format.
func FuzzAppend(f *testing.F) {
	for i, content := range formatFiles() {
		if i%7 == 0 {
			f.Add([]byte(content), []byte(messages[i%len(messages)]))
		}
	}
	for _, person := range people {
		f.Add([]byte("$Format:%an%ae%al%ad%ai%aI%as%ah%ar%at%aD%e%xff$"),
			[]byte("author "+person+"\nencoding ISO-8859-1\n\n\xe4\n"))
	}
	f.Fuzz(func(t *testing.T, content, commit []byte) {
		m := &memory{
			commits: map[git.ID]string{tip: firstLine + string(commit)},
			refs: []git.Ref{{Name: "refs/tags/v1", Target: git.ID{9}, Commit: tip},
				{Name: "refs/heads/x", Target: tip, Commit: tip}},
		}
		got, err := subst.Append(t.Context(), pretty.New(m, tip, clock), []byte("dst"), content)
		var limit *pretty.LimitError
		var fatal *pretty.FatalError
		if err != nil && !errors.As(err, &limit) && !errors.As(err, &fatal) && !errors.Is(err, git.ErrCorrupt) {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(got, []byte("dst")) || len(got) > len(content)+(65<<20) {
			t.Fatalf("%d bytes from %d", len(got), len(content))
		}
		if !bytes.Contains(content, []byte("$Format:")) && !bytes.Equal(got[3:], content) {
			t.Fatalf("%q became %q", content, got)
		}
		again, errAgain := subst.Append(t.Context(), pretty.New(m, tip, clock), make([]byte, 3, 1<<12), content)
		if (err == nil) != (errAgain == nil) || err == nil && !bytes.Equal(got[3:], again[3:]) {
			t.Fatalf("%q, %v and then %q, %v", got, err, again, errAgain)
		}
		if !subst.DependsOnRefs(content) && err == nil {
			other, err := subst.Append(t.Context(), pretty.New(renamed{&memory{commits: m.commits}}, tip, clock), nil,
				content)
			if err != nil || !bytes.Equal(got[3:], other) {
				t.Fatalf("%q depends on refs: %q and %q, %v", content, got, other, err)
			}
		}
	})
}
