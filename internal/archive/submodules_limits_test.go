package archive_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestSubmodulesCountTogetherBeforehand: what they are too many for is refused
// before the first byte.
func TestSubmodulesCountTogetherBeforehand(t *testing.T) {
	g := newGroup(t)
	var files []gittest.File
	for i := range 10 {
		files = append(files, gittest.Regular(fmt.Sprint(i), strings.Repeat("x", 100+i)))
	}
	lib, other := g.commit("lib", files...), g.commit("other", append(files, gittest.Regular("more", "1"))...)
	g.commit("main", modules("a", "../lib", "b", "../other"), gittest.Gitlink("a", lib), gittest.Gitlink("b", other))
	for _, c := range []struct {
		limits  archive.Limits
		refused bool
	}{
		{archive.Limits{Entries: 24}, false}, {archive.Limits{Entries: 23}, true}, {archive.Limits{Entries: 11}, true},
		{archive.Limits{Bytes: 2000}, true}, {archive.Limits{Bytes: 1200}, true},
		{archive.Limits{Bytes: 40_000}, false},
	} {
		if _, err := g.plan("main", archive.Options{Limits: c.limits}); c.refused != errors.Is(err, archive.ErrLimit) {
			t.Errorf("%+v: %v", c.limits, err)
		}
	}
}

func TestSubmodulesOfTheirOwnHistoryEnd(t *testing.T) {
	for _, levels := range []int{16, 17} {
		g := newGroup(t)
		below := placed{}
		commits := []string{g.commit("self", gittest.Regular("file", "0"))}
		for i := range levels {
			commits = append(commits, g.commit("self", modules("sub", "../self"), gittest.Gitlink("sub", commits[i]),
				gittest.Regular("file", "x")))
		}
		for i := range levels {
			below["sub"+strings.Repeat("/sub", i)] = [2]string{"self", commits[levels-1-i]}
		}
		if levels == 16 {
			g.check("own history", "self", archive.Options{}, below)
		} else if _, err := g.plan("self", archive.Options{}); !errors.Is(err, archive.ErrLimit) {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
}

func TestSubmodulesThatMultiplyAreRefused(t *testing.T) {
	g := newGroup(t)
	commit := g.commit("self", gittest.Regular("file", "0"))
	for range 6 {
		var pairs []string
		var files []gittest.File
		for i := range 4 {
			pairs = append(pairs, fmt.Sprint("s", i), "../self")
			files = append(files, gittest.Gitlink(fmt.Sprint("s", i), commit))
		}
		commit = g.commit("self", append(files, modules(pairs...))...)
	}
	if _, err := g.plan("self", archive.Options{}); !errors.Is(err, archive.ErrLimit) {
		t.Error(err)
	}
	// What is not chosen is not opened.
	if _, err := g.plan("self", archive.Options{Paths: []string{"s1/s2"}}); err != nil {
		t.Error(err)
	}
}

func TestSubmodulesCountForTheLimits(t *testing.T) {
	g, _ := family(t)
	p, err := g.plan("group/main", archive.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, limits := range map[string]archive.Limits{
		"entries": {Entries: m.Entries - 1}, "bytes": {Bytes: m.Bytes - 1}, "file": {BlobBytes: 499_999},
		"depth": {Depth: 3}, "path": {PathBytes: 24},
	} {
		p, err := g.plan("group/main", archive.Options{Limits: limits})
		if err == nil {
			err = p.WriteTo(t.Context(), io.Discard)
		}
		if !errors.Is(err, archive.ErrLimit) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// What export-ignore leaves out counts as well, as it does of folders.
	const hidden, hiddenBytes = 20, 600_000
	if p, err = g.plan("group/main",
		archive.Options{Limits: archive.Limits{Entries: m.Entries + m.Ignored + hidden, Bytes: m.Bytes +
			hiddenBytes}}); err == nil {
		err = p.WriteTo(t.Context(), io.Discard)
	}
	if err != nil {
		t.Errorf("within the limits: %v", err)
	}
}
