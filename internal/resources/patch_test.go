package resources

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

// patched is a service over a repository with a side branch, a merge, a second root and a commit
// that no ref leads to.
type patched struct {
	*Service
	repo                              *gittest.Repo
	base, side, main, lost, unrelated string
}

func newPatched(t *testing.T, l *limits.Limiter) *patched {
	t.Helper()
	root := t.TempDir()
	p := &patched{repo: gittest.At(t, filepath.Join(root, "team", "repo.git"))}
	long := func(seed int) gittest.File {
		return gittest.Regular(fmt.Sprint("long ", seed), gittest.Lines(seed, 3000))
	}
	p.base = p.repo.Commit("main", gittest.Regular("a", "1\n"), long(1))
	p.repo.SetRef("refs/tags/v1", p.base)
	p.lost = p.repo.Commit("lost", gittest.Regular("a", "lost\n"))
	p.repo.Git("update-ref", "-d", "refs/heads/lost")
	p.repo.SetRef("refs/heads/feature/x", p.base)
	p.side = p.repo.Commit("feature/x", gittest.Regular("a", "1\nside\n"), long(2))
	p.repo.Commit("main", gittest.Regular("a", "main\n1\n"), long(1), gittest.Regular("bin", "\x00"+gittest.Noise(9000)))
	tree := p.repo.Git("rev-parse", "main^{tree}")
	p.main = p.repo.Git("commit-tree", "-m", "merge", "-p", "main", "-p", "feature/x", tree)
	p.repo.SetRef("refs/heads/main", p.main)
	p.unrelated = p.repo.Commit("other", gittest.Regular("o", "1\n"))
	p.Service = New(Options{Catalogue: repostest.Open(t, root, repos.Options{}), Limits: l})
	return p
}

// find finds the patch of a URI below the repository's.
func (p *patched) find(t *testing.T, below string) *Found {
	t.Helper()
	found, err := p.Find(t.Context(), "repo://team/repo/"+below)
	if err != nil {
		t.Fatalf("%s: %v", below, err)
	}
	t.Cleanup(func() {
		if err := found.Close(); err != nil {
			t.Error(err)
		}
	})
	return found
}

// take returns the wanted bytes.
func (p *patched) take(ctx context.Context, found *Found, want Want) (content []byte, body *Body, err error) {
	if body, err = found.Open(ctx, want); err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	err = body.WriteTo(ctx, &out)
	return out.Bytes(), body, errors.Join(err, body.Close())
}

// git returns the output of a command that ends with a line feed, if it has any.
func (p *patched) git(args ...string) string {
	if out := p.repo.Git(args...); out != "" {
		return out + "\n"
	}
	return ""
}

// TestPatchesAreResources compares the resources with the commands that docs/tools.md names.
func TestPatchesAreResources(t *testing.T) {
	t.Parallel()
	p := newPatched(t, limits.New(limits.Options{Memory: 1 << 30}))
	mails := func(args ...string) string {
		return p.git(append([]string{"format-patch", "--stdout", "--signature=repomcp"}, args...)...)
	}
	short := p.base[:9]
	before := p.repo.Git("rev-parse", "main~1")[:12]
	for below, want := range map[string]struct{ text, name string }{
		"compare/feature/x...main.diff":    {p.git("diff", "feature/x...main"), "feature-x...main.diff"},
		"compare/feature/x..main.diff":     {p.git("diff", "feature/x..main"), "feature-x..main.diff"},
		"compare/main..feature%2Fx.diff":   {p.git("diff", "main..feature/x"), "main..feature-x.diff"},
		"compare/v1...main.diff":           {p.git("diff", p.base, "main"), "v1...main.diff"},
		"compare/" + short + "..main.diff": {p.git("diff", p.base, "main"), short + "..main.diff"},
		"compare/other..main.diff":         {p.git("diff", "other..main"), "other..main.diff"},
		"compare/main~1...HEAD.patch":      {mails("main~1..HEAD"), before + "..." + p.main[:12] + ".patch"},
		"compare/v1..main.patch":           {mails("v1..main"), "v1..main.patch"},
		"compare/other...main.patch":       {mails("other..main"), "other...main.patch"},
		"compare/main...main.patch":        {"", "main...main.patch"},
		"commit/main.diff":                 {p.git("show", "--format=", "--diff-merges=first-parent", "main"), "main.diff"},
		"commit/" + p.side + ".diff":       {p.git("show", "--format=", p.side), p.side + ".diff"},
		"commit/" + p.side + ".patch":      {mails("-1", p.side), p.side + ".patch"},
		"commit/other.patch":               {mails("-1", "other"), "other.patch"},
	} {
		found := p.find(t, below)
		got, body, err := p.take(t.Context(), found, Want{Method: Get})
		if err != nil || gittest.WithoutPayloads(string(got)) != gittest.WithoutPayloads(want.text) {
			t.Errorf("%s: %v, %d bytes\n%.300s\nand git has %d\n%.300s", below, err, len(got), got, len(want.text),
				want.text)
			continue
		}
		if sum := sha256.Sum256(got); !bytes.Equal(body.Digest, sum[:]) || body.Size != int64(len(got)) {
			t.Errorf("%s: the digest %x and the size %d are not those of the bytes", below, body.Digest, body.Size)
		}
		if found.FileName != "repo-"+want.name || found.MIMEType != mimeText || found.Weak || found.Immutable {
			t.Errorf("%s: %q of type %q, weak %t, immutable %t", below, found.FileName, found.MIMEType, found.Weak,
				found.Immutable)
		}
		pinned, err := p.Find(t.Context(), found.Frozen)
		if err != nil || pinned.ETag != found.ETag || pinned.URI != found.Frozen {
			t.Errorf("%s is %s by ids: %v", below, found.Frozen, err)
		}
		if err == nil {
			_ = pinned.Close()
		}
	}
}

// TestRangesOfPatches takes parts of patches whose length is unknown and known.
func TestRangesOfPatches(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	p := newPatched(t, limits.New(limits.Options{Memory: 1 << 30}))
	random := rand.New(rand.NewPCG(1, 1))
	cases := 0
	for _, below := range []string{
		"compare/" + p.base + ".." + p.side + ".diff", "compare/" + p.base + ".." + p.main + ".patch",
		"commit/" + p.side + ".patch",
	} {
		first := &Range{First: 1000, Last: 1999, Suffix: -1}
		part, body, err := p.take(t.Context(), p.find(t, below), Want{Method: Get, Range: first})
		if err != nil || !body.Part || len(part) != 1000 {
			t.Fatalf("%s: a range beforehand: %d bytes, %v", below, len(part), err)
		}
		whole, _, err := p.take(t.Context(), p.find(t, below), Want{Method: Get})
		if err != nil || !bytes.Equal(whole[1000:2000], part) {
			t.Fatalf("%s: the range is no part of the whole, %v", below, err)
		}
		for range 30 {
			from := random.Int64N(int64(len(whole)))
			to := from + random.Int64N(int64(len(whole)))
			part := Want{Method: Get, Range: &Range{First: from, Last: to, Suffix: -1}}
			got, _, err := p.take(t.Context(), p.find(t, below), part)
			if want := whole[from:min(to+1, int64(len(whole)))]; err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: bytes %d to %d: %d bytes, %v", below, from, to, len(got), err)
			}
			cases++
		}
		body, err = p.find(t, below).Open(t.Context(), Want{Method: Head})
		if err != nil || body.Size != int64(len(whole)) || body.Digest == nil {
			t.Errorf("%s: HEAD of what was sent before: %v", below, err)
		}
	}
	if cases < 90 {
		t.Errorf("only %d ranges were taken", cases)
	}
}

// TestPatchesThatDoNotExist has ends that are unknown, not served, unrelated, or no commits.
func TestPatchesThatDoNotExist(t *testing.T) {
	t.Parallel()
	p := newPatched(t, nil)
	unknown := strings.Repeat("1", 40)
	message := func(below string) string {
		t.Helper()
		found, err := p.Find(t.Context(), "repo://team/repo/"+below)
		if err == nil {
			_ = found.Close()
			t.Fatalf("%s was found", below)
		}
		failure := AsError(err, "")
		return string(failure.Reason) + ": " + failure.Message
	}
	for _, form := range []string{".diff", ".patch"} {
		for _, below := range []string{
			"commit/%s", "compare/main...%s", "compare/%s...main", "compare/%s..main", "compare/%s...%[1]s",
		} {
			want := message(fmt.Sprintf(below, unknown) + form)
			got := message(fmt.Sprintf(below, p.lost) + form)
			if got != want || !strings.HasPrefix(want, string(ReasonNotFound)) {
				t.Errorf("%s of a commit that is not served: %s, and of an unknown one: %s", below, got, want)
			}
		}
	}
	for below, want := range map[string]string{
		"commit/main.patch":           "is a merge",
		"compare/other...main.diff":   "two dots",
		"compare/main.diff":           "BASE...HEAD",
		"compare/...main.diff":        "BASE...HEAD",
		"compare/main....diff":        "BASE...HEAD",
		"commit/.diff":                "Name a commit",
		"commit/main.txt":             "Resource not found",
		"compare/main":                "Resource not found",
		"commit/main^{tree}.diff":     "commit",
		"commit/main.diff?prefix=x":   "Malformed",
		"compare/main...v1:a/b.diff":  "",
		"compare/a...main...x.diff":   "range",
		"compare/main@{1}..main.diff": "",
	} {
		if got := message(below); !strings.Contains(got, want) {
			t.Errorf("%s: %s, and not %s", below, got, want)
		}
	}
}

// TestPatchesAreReserved asks a full server, and looks at what stays reserved.
func TestPatchesAreReserved(t *testing.T) {
	t.Parallel()
	l := limits.New(limits.Options{Memory: 1 << 30, Patience: 1, Share: 100})
	p := newPatched(t, l)
	uri := "compare/" + p.base + "..." + p.main + ".patch"
	found := p.find(t, uri)
	stream, err := l.Stream(t.Context(), "", 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	part := Want{Method: Get, Range: &Range{First: 5, Last: 9, Suffix: -1}}
	for _, want := range []Want{{Method: Get}, part, {Method: Head, Digest: true}} {
		if _, err := found.Open(t.Context(), want); limits.RefusalOf(err) == nil {
			t.Errorf("%+v of a full server: %v, want a refusal", want, err)
		}
	}
	if body, err := found.Open(t.Context(), Want{Method: Head}); err != nil || body.Size != UnknownSize {
		t.Errorf("HEAD makes nothing: %v", err)
	}
	stream.Release()
	body, err := found.Open(t.Context(), Want{Method: Get})
	if err != nil {
		t.Fatal(err)
	}
	if reserved := stateOf(l, "streams"); reserved < 1<<20 {
		t.Errorf("%d bytes are reserved for a patch", reserved)
	}
	if err := body.Close(); err != nil || stateOf(l, "streams") != 0 {
		t.Errorf("%d bytes stay reserved, %v", stateOf(l, "streams"), err)
	}
	call, err := l.Call(t.Context(), "", 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Release()
	if _, err := p.Find(t.Context(), "repo://team/repo/"+uri); limits.RefusalOf(err) == nil {
		t.Errorf("a plan of a full server: %v, want a refusal", err)
	}
}

func stateOf(l *limits.Limiter, gate string) (memory int64) {
	for _, state := range l.States() {
		if state.Gate == gate {
			memory = state.Memory
		}
	}
	return memory
}

// TestDamageEndsAPatch damages a file that is compared late. Its size can still be read.
func TestDamageEndsAPatch(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"diff", "patch"} {
		p := newPatched(t, nil)
		var commits [2]string
		for i := range commits {
			commits[i] = p.repo.Commit("damaged", gittest.Regular("a", gittest.Lines(i, 4000)),
				gittest.Regular("z", gittest.Noise(700+i)))
		}
		base, head := commits[0], commits[1]
		p.repo.DamageEnd(head + ":z")
		for _, below := range []string{"commit/" + head + "." + form, "compare/" + base + "..." + head + "." + form} {
			content, _, err := p.take(t.Context(), p.find(t, below), Want{Method: Get})
			if !errors.Is(err, git.ErrCorrupt) {
				t.Errorf("%s of a damaged file: %d bytes, %v, want damage", below, len(content), err)
			}
		}
	}
}

// TestAClientThatLeavesEndsAPatch ends the context of a request with its first bytes.
func TestAClientThatLeavesEndsAPatch(t *testing.T) {
	t.Parallel()
	p := newPatched(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	body, err := p.find(t, "compare/other.."+p.main+".patch").Open(ctx, Want{Method: Get})
	if err != nil {
		t.Fatal(err)
	}
	leaves := leaving{cancel}
	if err := errors.Join(body.WriteTo(ctx, leaves), body.Close()); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that left: %v", err)
	}
}

type leaving struct{ leave func() }

func (l leaving) Write(p []byte) (int, error) {
	l.leave()
	return len(p), nil
}

// TestPatchesAreLocated finds the URLs of patches by ids, for which nothing is read, and of others.
func TestPatchesAreLocated(t *testing.T) {
	t.Parallel()
	p := newPatched(t, nil)
	for below, route := range map[string]string{
		"compare/" + p.base + "..." + p.main + ".diff": "/compare/team/repo/" + p.base + "..." + p.main + ".diff",
		"compare/feature/x..main.patch":                "/compare/team/repo/" + p.side + ".." + p.main + ".patch",
		"commit/main.diff":                             "/commit/team/repo/" + p.main + ".diff",
	} {
		r, err := Parse("repo://team/repo/"+below, p.names(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		located, err := p.Locate(t.Context(), r)
		if err != nil || located.Route != route {
			t.Errorf("%s is at %q, %v, want %q", below, located.Route, err, route)
		}
		kind, path, _ := strings.Cut(strings.TrimPrefix(route, "/"), "/")
		found, failure := p.FindDownload(t.Context(), Plain(kind), path, "", false)
		if failure != nil || found.URI != located.URI {
			t.Errorf("GET %s: %v, want %s", route, failure, located.URI)
			continue
		}
		_ = found.Close()
	}
}

// TestPatchesAreTooLarge translates the error for a client.
func TestPatchesAreTooLarge(t *testing.T) {
	t.Parallel()
	if failure := AsError(fmt.Errorf("planning: %w", history.ErrTooMany), ""); failure.Reason != ReasonTooLarge {
		t.Errorf("%s: %s", failure.Reason, failure.Message)
	}
}
