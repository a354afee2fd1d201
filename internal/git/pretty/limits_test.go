package pretty_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/pretty"
	"github.com/repomcp/repomcp/internal/git/subst"
	"github.com/repomcp/repomcp/internal/gittest"
)

// memory is a repository of one commit and as many more as are asked for.
type memory struct {
	commits map[git.ID]string
	refs    []git.Ref
	more    func(id git.ID) string
	reads   int
}

var tip = git.ID{1}

func (m *memory) RawCommit(id git.ID) ([]byte, error) {
	m.reads++
	if content, ok := m.commits[id]; ok {
		return []byte(content), nil
	}
	if m.more != nil {
		return []byte(m.more(id)), nil
	}
	return nil, git.ErrNotFound
}

func (m *memory) RawTag(id git.ID) ([]byte, error) {
	return fmt.Appendf(nil, "object %s\ntype commit\ntag v1\ntagger A <a@b> 1 +0000\n\nx\n", tip), nil
}
func (m *memory) Refs() ([]git.Ref, error)               { return m.refs, nil }
func (m *memory) Tags() ([]git.Ref, error)               { return m.refs, nil }
func (m *memory) Head() (git.Ref, error)                 { return git.Ref{}, git.ErrEmpty }
func (m *memory) Shallow() (map[git.ID]bool, error)      { return nil, nil }
func (m *memory) Abbreviate(git.ID, int) (string, error) { return "1234567", nil }
func (m *memory) Lookup(git.ID, string) (git.TreeEntry, error) {
	return git.TreeEntry{}, git.ErrNotFound
}
func (m *memory) ReadBlob(git.ID, int64, []byte) ([]byte, error) { return nil, git.ErrNotFound }

const (
	firstLine = "tree 0000000000000000000000000000000000000000\n"
	header    = firstLine + "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n"
)

func repositoryWith(message string) *memory {
	return &memory{commits: map[git.ID]string{tip: header + "\n" + message}}
}

// hostile are files that would cost gigabytes or hours.
var hostile = []struct{ name, message, content string }{
	{"padding", "s\n", strings.Repeat("$Format:%<(16384)%s$", 1<<14)},
	{"message", "s\n\n" + strings.Repeat("body ", 1<<18), strings.Repeat("$Format:%b$", 1000)},
	{"wrapped lines", "s\n\n" + strings.Repeat("b\n", 1<<18), "$Format:%w(1,16384,16384)%B$"},
	{"indented lines", "s\n\n" + strings.Repeat("b\n", 1<<18), "$Format:%w(0,16384,16384)%B$"},
	{"separators", "s\n\n" + strings.Repeat("k: v\n", 1<<16), "$Format:%(trailers:separator=" + strings.Repeat("s",
		1<<14) + ")$"},
	{"filtered trailers", "s\n\n" + strings.Repeat("k: v\n", 1<<18), strings.Repeat("$Format:%(trailers:key=x)$",
		1<<12)},
	{"columns", "s\n", strings.Repeat("x", 1<<18) + strings.Repeat("$Format:%<|(1)%s$", 1<<16)},
	{"wrapping of the file", "s\n", strings.Repeat("x y ", 1<<18) + "$Format:" + strings.Repeat("%<(1)%w(9)%w(8)",
		1<<12) + "$"},
	{"open parentheses", "s\n", "$Format:" + strings.Repeat("%C(%w(%<(", 1<<17) + "$"},
	{"open options", "s\n", "$Format:" + strings.Repeat("%(trailers:key=", 1<<16) + "$"},
	{"long line", strings.Repeat("s", 1<<18) + "\n\nb", strings.Repeat("$Format:%(trailers:only)%f$", 1<<12)},
	{"many keys", "s\n\n" + strings.Repeat("k: v\n", 1<<16), "$Format:%(trailers:" + strings.Repeat("key=k,", 1<<18) +
		")$"},
}

// TestHostileFilesAreBounded expands files whose expansion would take very long.
func TestHostileFilesAreBounded(t *testing.T) {
	gittest.Long(t)
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			e := pretty.New(repositoryWith(c.message), tip, clock)
			e.Limit(4<<20, 1)
			got, err := subst.Append(t.Context(), e, nil, []byte(c.content))
			var limit *pretty.LimitError
			if !errors.As(err, &limit) || len(got) != 0 {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func TestGrowthIsBounded(t *testing.T) {
	e := pretty.New(repositoryWith("s\n"), tip, clock)
	_, err := subst.Append(t.Context(), e, nil, []byte(strings.Repeat("$Format:%<(16384)%s$", 5000)))
	var limit *pretty.LimitError
	if !errors.As(err, &limit) || limit.What != "bytes added" {
		t.Errorf("80 MiB: %v", err)
	}
	if got, err := subst.Append(t.Context(), e, nil,
		[]byte(strings.Repeat("$Format:%<(16384)%s$", 4000))); err != nil || len(got) != 4000*16384 {
		t.Errorf("64 MiB: %d bytes, %v", len(got), err)
	}
}

// endless is a history without a root, in which no commit has a tag.
func endless() *memory {
	m := repositoryWith("s\n")
	next := uint32(0)
	m.refs = []git.Ref{{Name: "refs/tags/v1", Target: git.ID{9}, Commit: git.ID{9, 9}}}
	m.more = func(git.ID) string {
		next++
		id := git.ID{2, byte(next >> 24), byte(next >> 16), byte(next >> 8), byte(next)}
		return strings.Replace(header, "author", "parent "+id.String()+"\nauthor", 1) + "\nx\n"
	}
	m.commits[tip] = m.more(tip)
	return m
}

func TestHistoryIsBounded(t *testing.T) {
	m := endless()
	e := pretty.New(m, tip, clock)
	e.Limit(1<<30, 1000)
	_, err := subst.Append(t.Context(), e, nil, []byte("$Format:%(describe)$"))
	var limit *pretty.LimitError
	if !errors.As(err, &limit) || limit.What != "commits visited" || m.reads > 1001 {
		t.Errorf("%d commits: %v", m.reads, err)
	}
}

// TestMatchingIsAccountedFor has a pattern that makes backtracking slow.
func TestMatchingIsAccountedFor(t *testing.T) {
	m := repositoryWith("s\n")
	m.refs = []git.Ref{{Name: "refs/tags/" + strings.Repeat("a", 4000), Target: tip, Commit: tip}}
	e := pretty.New(m, tip, clock)
	e.Limit(16<<20, 1)
	_, err := subst.Append(t.Context(), e, nil,
		[]byte("$Format:%(describe:tags,match="+strings.Repeat("*a", 30_000)+"b)$"))
	var limit *pretty.LimitError
	if !errors.As(err, &limit) || limit.What != "bytes examined" {
		t.Error(err)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	for _, content := range []string{"$Format:%(describe)$", "$Format:%h$", strings.Repeat("$Format:%<|(3)%s$", 10)} {
		m := endless()
		ctx, cancel := context.WithCancelCause(t.Context())
		more := m.more
		m.more = func(id git.ID) string {
			if m.reads > 1000 {
				cancel(cause)
			}
			return more(id)
		}
		if content != "$Format:%(describe)$" {
			cancel(cause)
		}
		got, err := subst.Append(ctx, pretty.New(m, tip, clock), []byte("x"), []byte(content))
		if !errors.Is(err, context.Canceled) || string(got) != "x" || m.reads > 1100 {
			t.Errorf("%.30q: %q, %v after %d commits", content, got, err, m.reads)
		}
		cancel(nil)
	}
}

// TestLongHistory describes a commit tens of thousands of commits after its tag.
func TestLongHistory(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	var in strings.Builder
	length := gittest.Volume(20_000, 100_000)
	for i := range length {
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 1\nx\n", 1_500_000_000+i)
		if i == length-1 {
			fmt.Fprintf(&in, "M 100644 inline .gitattributes\ndata 19\nfmt/* export-subst\n\n")
			fmt.Fprintf(&in, "M 100644 inline fmt/a\ndata 20\n$Format:%%(describe)$\n")
		}
	}
	repo.GitInput([]byte(in.String()), "fast-import", "--quiet")
	commit := repo.Git("rev-parse", "main")
	annotate(t, repo, "v1", "commit", repo.Git("rev-list", "--max-parents=0", "main"), 1)
	if n := compare(t, repo, "long history", commit, []string{"$Format:%(describe)$"}); n != 1 {
		t.Errorf("%d comparisons", n)
	}
}

func TestErrorsOfTheRepository(t *testing.T) {
	damaged := errors.New("damaged")
	for _, content := range []string{"$Format:%H$", "$Format:%s$", "$Format:%d$", "$Format:%(describe)$",
		"$Format:%q$"} {
		got, err := subst.Append(t.Context(), pretty.New(failing{repositoryWith("s"), damaged}, tip, clock),
			[]byte("x"), []byte(content))
		if !errors.Is(err, damaged) || string(got) != "x" {
			t.Errorf("%s: %q, %v", content, got, err)
		}
	}
}

// failing reads neither its refs nor where its history ends.
type failing struct {
	*memory
	err error
}

func (f failing) Refs() ([]git.Ref, error)          { return nil, f.err }
func (f failing) Tags() ([]git.Ref, error)          { return nil, f.err }
func (f failing) Shallow() (map[git.ID]bool, error) { return nil, f.err }

func TestAppend(t *testing.T) {
	e := pretty.New(repositoryWith("subject\n"), tip, clock)
	for content, want := range map[string]string{
		"":                         "",
		"nothing":                  "nothing",
		"$Format:":                 "$Format:",
		"a$Format:%s$b":            "asubjectb",
		"$Format:%s$$Format:%an$$": "subjectA$",
	} {
		for _, dst := range [][]byte{nil, []byte("dst"), make([]byte, 2, 4096)} {
			got, err := subst.Append(t.Context(), e, dst, []byte(content))
			if err != nil || string(got) != string(dst)+want {
				t.Errorf("%q after %q: %q, %v", content, dst, got, err)
			}
		}
	}
}

// TestTakesBlanksOfItsOwnFormatOnly is about %>>, which takes blanks before a text
// that is too wide. Those of the file are not its own.
func TestTakesBlanksOfItsOwnFormatOnly(t *testing.T) {
	hash := tip.String()
	for content, want := range map[string]string{
		"x     $Format:%>>(37)%H$":            "x     " + hash,
		"x     $Format:y     %>>(37)%H$":      "x     y  " + hash,
		"x  $Format:  %>>(30)%H$":             "x  " + hash,
		"x  \n$Format:%-d  %>>(30)%H$":        "x  " + hash,
		"$Format:x     $$Format:%>>(37)%H$":   "x     " + hash,
		"\x1b[m   $Format:  \x1b[m%>>(9)%H$":  "\x1b[m   \x1b[m" + hash,
		"   $Format:%>>|(9)%H$   $Format:%H$": "   " + hash + "   " + hash,
	} {
		got, err := subst.Append(t.Context(), pretty.New(repositoryWith("s\n"), tip, clock), nil, []byte(content))
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, want %q, %v", content, got, want, err)
		}
	}
}

func TestDependsOnRefs(t *testing.T) {
	for content, want := range map[string]bool{
		"":                                    false,
		"%h %d":                               false,
		"$Format:%d":                          false,
		"$Format:%H %T %P %an %ae %ad %s %b$": false,
		"$Format:%h$":                         true,
		"x $Format:%H$ $Format:%d$":           true,
		"$Format:%D$":                         true,
		"$Format:%+d$":                        true,
		"$Format:% d$":                        true,
		"$Format:100%%d$":                     false,
		"$Format:100%%%d$":                    true,
		"$Format:%<(10)%t$":                   true,
		"$Format:%p$":                         true,
		"$Format:%(describe:tags)$":           true,
		"$Format:%(decorate)$":                true,
		"$Format:%ar$":                        true,
		"$Format:%cr$":                        true,
		"$Format:%ah$":                        true,
		"$Format:%aN%cE%aL$":                  true,
		"$Format:%G?$":                        true,
		"$Format:%ai %cI%e%f%m%n%x41%(trailers:only)%w(3)%C(red)$": false,
		"$Format:%\x00%d$": false,
		"$Format:%H$%d$":   false,
		// A colour and what is padded with it are one, so that %h comes next.
		"$Format:%<(9)%C(red)%%h$": true,
	} {
		if got := subst.DependsOnRefs([]byte(content)); got != want {
			t.Errorf("%q: %t", content, got)
		}
	}
}

// TestStableWithoutRefs compares two repositories that share only the commit:
// what does not depend on refs is the same in both.
func TestStableWithoutRefs(t *testing.T) {
	one, other := repositoryWith("s\n\nK: v\n"), repositoryWith("s\n\nK: v\n")
	other.refs = []git.Ref{{Name: "refs/heads/main", Target: tip, Commit: tip},
		{Name: "refs/tags/v1", Target: git.ID{7}, Commit: tip}}
	later := func() time.Time { return clock().Add(1000 * time.Hour) }
	stable := 0
	for _, content := range formatFiles() {
		if subst.DependsOnRefs([]byte(content)) {
			continue
		}
		a, errA := subst.Append(t.Context(), pretty.New(one, tip, clock), nil, []byte(content))
		b, errB := subst.Append(t.Context(), pretty.New(renamed{other}, tip, later), nil, []byte(content))
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%q: %q, %v; %q, %v", content, a, errA, b, errB)
		}
		stable++
	}
	if stable < 500 {
		t.Errorf("%d formats", stable)
	}
}

// renamed abbreviates otherwise.
type renamed struct{ *memory }

func (renamed) Abbreviate(git.ID, int) (string, error) { return "12345678", nil }
