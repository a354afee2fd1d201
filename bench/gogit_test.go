//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gogitgraph "github.com/go-git/go-git/v5/plumbing/format/commitgraph/v2"
	"github.com/go-git/go-git/v5/plumbing/format/config"
	gogitindex "github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/repomcp/repomcp/internal/archive/checkout"
	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/commitgraph"
	"github.com/repomcp/repomcp/internal/git/gitconfig"
	"github.com/repomcp/repomcp/internal/gittest"
)

// countingReader counts calls.
type countingReader struct {
	*bytes.Reader
	calls int
}

func (r *countingReader) ReadAt(p []byte, off int64) (int, error) {
	r.calls++
	return r.Reader.ReadAt(p, off)
}

func (r *countingReader) Close() error { return nil }

// BenchmarkGoGitCommitGraph goes to the parents of all commits of a graph, and reports what go-git
// takes for a commit.
func BenchmarkGoGitCommitGraph(b *testing.B) {
	const commits = 5000
	repo := gittest.New(b)
	var stream strings.Builder
	for i := range commits {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 1\nx\n", 1_500_000_000+i)
	}
	repo.GitInput([]byte(stream.String()), "fast-import", "--quiet")
	repo.Git("commit-graph", "write", "--reachable")
	data, err := os.ReadFile(filepath.Join(repo.Dir, "objects/info/commit-graph"))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("repomcp", func(b *testing.B) {
		graph, err := commitgraph.Parse(data, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			for at := range graph.Len() {
				graph.Parents(at)(func(uint32) bool { return true })
			}
		}
	})
	b.Run("go-git", func(b *testing.B) {
		r := &countingReader{Reader: bytes.NewReader(data)}
		index, err := gogitgraph.OpenFileIndex(r)
		if err != nil {
			b.Fatal(err)
		}
		r.calls = 0
		b.ReportAllocs()
		for b.Loop() {
			for at := range index.MaximumNumberOfHashes() {
				if _, err := index.GetCommitDataByIndex(at); err != nil && !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(r.calls)/float64(b.N)/commits, "calls/commit")
	})
}

// oddConfigs are configurations that git reads.
var oddConfigs = []string{
	"[core] bare = true\n", "[extensions]\nrefstorage = ref\\\ntable\n", "# f\xfcr\n[core]\nbare = true\n",
	"\ufeff[core]\nbare = true\n", "[branch.main]\nremote = origin\n", "[url \"a\\b\"]\ninsteadof = c\n",
	"[a \"\"]\nx = 1\n", "x = 1\n", "[core]\nbare\n", "[a]\nx = 1\n[b]\nx = 2\n[a]\nx = 3\n", "[a]\nx = 1\\",
}

// BenchmarkGoGitConfig reads configurations, and reports how many are not read as git reads them.
func BenchmarkGoGitConfig(b *testing.B) {
	repo := gittest.New(b)
	for _, c := range []struct {
		name string
		read func(text string) ([]gitconfig.Setting, error)
	}{{"repomcp", gitconfig.Parse}, {"go-git", goGitSettings}} {
		b.Run(c.name, func(b *testing.B) {
			misread := 0
			for _, text := range oddConfigs {
				repo.WriteFile("odd", []byte(text))
				var list strings.Builder
				settings, err := c.read(text)
				for _, s := range settings {
					fmt.Fprintf(&list, "%s=%s\n", s.Name, s.Value)
				}
				// git lists a key without a value by its name alone.
				want := strings.ReplaceAll(repo.Git("config", "--list", "--file", "odd")+"\n", "core.bare\n", "core.bare=true\n")
				if err != nil || list.String() != want {
					misread++
				}
			}
			for b.Loop() {
				for _, text := range oddConfigs {
					_, _ = c.read(text)
				}
			}
			b.ReportMetric(float64(misread), "misread")
		})
	}
}

func goGitSettings(text string) (settings []gitconfig.Setting, err error) {
	file := config.New()
	if err := config.NewDecoder(strings.NewReader(text)).Decode(file); err != nil {
		return nil, err
	}
	add := func(prefix string, options config.Options) {
		for _, o := range options {
			settings = append(settings, gitconfig.Setting{Name: prefix + strings.ToLower(o.Key), Value: o.Value})
		}
	}
	for _, section := range file.Sections {
		name := strings.ToLower(section.Name) + "."
		add(name, section.Options)
		for _, sub := range section.Subsections {
			add(name+sub.Name+".", sub.Options)
		}
	}
	return settings, nil
}

// oddPeople are the author and the committer of commits that git reads.
var oddPeople = []string{
	"author A <a@x> 1 +0000\nauthor B <b@x> 3 +0000\ncommitter C <c@x> 2 +0000\n",
	"author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\ncommitter D <d@x> 3 +0000\n",
	"committer C <c@x> 2 +0000\nauthor A <a@x> 1 +0000\n",
	"author A <a@x>1700000000 +0000\ncommitter C <c@x>1700000001 +0000\n",
	"author A <a@x>  1700000000 +0000\ncommitter C <c@x>  1700000001 +0000\n",
	"author A <a@x> 1700000000 -0030\ncommitter C <c@x> 1700000001 -0030\n",
	"author A <a@x> 1700000000 +1\ncommitter C <c@x> 1700000001 +1\n",
}

// BenchmarkGoGitCommits reads commits, and reports how many are not read as git reads them. The parser
// of repomcp is compared in the tests of internal/git.
func BenchmarkGoGitCommits(b *testing.B) {
	repo := gittest.New(b)
	tree := repo.Store("tree", "")
	misread := 0
	for _, people := range oddPeople {
		raw := "tree " + tree + "\n" + people + "\nm\n"
		want := strings.Split(repo.Git("log", "-1", "--no-mailmap", "--date=raw",
			"--format=%an%n%ae%n%ad%n%cn%n%ce%n%cd", repo.Store("commit", raw)), "\n")
		if !slices.Equal(goGitPeople(b, raw), want) {
			misread++
		}
	}
	for b.Loop() {
		for _, people := range oddPeople {
			goGitPeople(b, "tree "+tree+"\n"+people+"\nm\n")
		}
	}
	b.ReportMetric(float64(misread), "misread")
}

// goGitPeople returns the names, addresses and dates of a commit.
func goGitPeople(b *testing.B, raw string) (fields []string) {
	b.Helper()
	var stored plumbing.MemoryObject
	stored.SetType(plumbing.CommitObject)
	_, err := stored.Write([]byte(raw))
	var c object.Commit
	if err = errors.Join(err, c.Decode(&stored)); err != nil {
		b.Fatal(err)
	}
	for _, s := range []object.Signature{c.Author, c.Committer} {
		fields = append(fields, s.Name, s.Email, fmt.Sprintf("%d %s", s.When.Unix(), s.When.Format("-0700")))
	}
	return fields
}

// indexed is how many files the indexes of the benchmarks below have.
const indexed = 100_000

// filePath is the path of a file, in the order of the numbers.
func filePath(n int) string {
	return fmt.Sprintf("folder-%03d/sub-%02d/file-%06d.txt", n/1000, n/100%10, n)
}

func fileID(n int) (id git.ID) {
	binary.BigEndian.PutUint32(id[:], uint32(n)*2654435761)
	return id
}

// BenchmarkGoGitIndex writes the index of a working tree. That of go-git has no cached trees.
func BenchmarkGoGitIndex(b *testing.B) {
	b.Run("repomcp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			index := checkout.NewIndex(spill.NewSpace(b.TempDir(), 1<<30), git.ID{})
			for n := range indexed {
				if err := index.Add([]byte(filePath(n)), git.ModeRegular, fileID(n), 1, 1); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := index.WriteTo(io.Discard); err != nil {
				b.Fatal(err)
			}
			index.Close()
		}
	})
	b.Run("go-git", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			index := &gogitindex.Index{Version: 2}
			for n := range indexed {
				index.Entries = append(index.Entries, &gogitindex.Entry{
					Name: filePath(n), Mode: filemode.Regular, Hash: plumbing.Hash(fileID(n)), Size: 1,
					ModifiedAt: time.Unix(1, 0),
				})
			}
			if err := gogitindex.NewEncoder(io.Discard).Encode(index); err != nil {
				b.Fatal(err)
			}
		}
	})
}
