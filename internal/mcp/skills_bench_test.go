package mcp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/watch"
)

// BenchmarkSkillsList lists 1000 skills with five files each, of 200 packed repositories, on all pages of
// skills/list: with a server that remembers them, with one that has just started, and after a push to one
// of the repositories.
func BenchmarkSkillsList(b *testing.B) {
	const repositories, each, files = 200, 5, 4
	root := b.TempDir()
	var pushed *gittest.Repo
	for i := range repositories {
		pushed = gittest.At(b, filepath.Join(root, fmt.Sprintf("team%d/r%d.git", i%10, i)))
		var content []gittest.File
		for j := range each {
			folder := fmt.Sprintf("skills/s%d", j)
			content = append(content, skillIn(folder, "Does something for the benchmark."))
			for k := range files {
				content = append(content, gittest.Regular(fmt.Sprintf("%s/references/f%d.md", folder, k), fmt.Sprint(i, j, k)))
			}
		}
		pushed.Commit("main", content...)
		pushed.Git("repack", "-adq")
	}
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	serve := func() *Server {
		catalogue := repostest.Open(b, root, repos.Options{})
		return New(Options{
			Catalogue: catalogue, Subscriptions: watch.New(watch.Options{Catalogue: catalogue}),
			Resources: resources.New(resources.Options{Catalogue: catalogue, Engine: engine}),
		})
	}
	list := func(b *testing.B, s *Server) {
		b.Helper()
		listed := 0
		for cursor := ""; ; {
			r := &Request{Message: Message{ID: json.RawMessage("1"), Method: MethodSkillsList, Params: readParams(
				json.RawMessage(fmt.Sprintf(`{"cursor":%q}`, cursor)))}, Era: ModernEra}
			var reply struct {
				Result struct {
					Skills     []struct{}
					NextCursor string
				}
			}
			message := s.Answer(b.Context(), r).Message
			b.StopTimer()
			if err := json.Unmarshal(message, &reply); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			listed += len(reply.Result.Skills)
			if cursor = reply.Result.NextCursor; cursor == "" {
				break
			}
		}
		if listed != repositories*each {
			b.Fatalf("%d skills were listed", listed)
		}
	}
	warm := serve()
	list(b, warm)
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			list(b, warm)
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := serve()
			b.StartTimer()
			list(b, s)
		}
	})
	b.Run("pushed", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			pushed.Commit("main", skillIn("skills/s0", fmt.Sprint("v", i)), skillIn("skills/s1", "x"), skillIn("skills/s2", "x"),
				skillIn("skills/s3", "x"), skillIn("skills/s4", "x"))
			b.StartTimer()
			list(b, warm)
		}
	})
}
