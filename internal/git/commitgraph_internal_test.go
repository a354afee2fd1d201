package git

import (
	"crypto/sha1"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// droppedGraphs is an observer of the end of commit-graphs.
type droppedGraphs struct {
	unobserved
	told bool
}

func (d *droppedGraphs) CommitGraphDropped(error) { d.told = true }

// A large graph is in use before it has been compared with its checksum, and no
// longer when that was found to be wrong.
func TestLargeGraphsAreCheckedWhileTheyAreInUse(t *testing.T) {
	gittest.Long(t)
	const commits = 20_000
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.GitInput([]byte(strings.Repeat("commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 0\n\n",
		commits)),
		"fast-import", "--quiet")
	asked := strings.Fields(repo.Git("rev-parse", "main~5", "main~19999"))
	for name, damage := range map[string]func(graph []byte){
		"sound":    func([]byte) {},
		"checksum": func(graph []byte) { graph[len(graph)/2] ^= 1 },
		"parents": func(graph []byte) {
			for i := len(graph) / 3; i < len(graph)*2/3; i++ {
				graph[i] = 0xa5
			}
			sum := sha1.Sum(graph[:len(graph)-sha1.Size])
			copy(graph[len(graph)-sha1.Size:], sum[:])
		},
	} {
		repo.WriteCommitGraph(1)
		file := filepath.Join(repo.Dir, graphFile)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(content) <= wholeLayer {
			t.Fatalf("a graph of %d bytes is not large", len(content))
		}
		damage(content)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		repo.WriteFile("objects/info/commit-graph", content)
		store, err := NewStore(root, StoreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		store.layerChecks.delay = 0
		dropped := new(droppedGraphs)
		snapshot, err := store.Repository("repo.git", Options{ReachableOnly: true, Observer: dropped}).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if graph := snapshot.CommitGraph(); graph == nil || graph.Len() != commits {
			t.Fatalf("%s: the graph is not used", name)
		}
		store.layerChecks.running.Wait()
		for _, commit := range asked {
			if found, err := snapshot.Resolve(t.Context(), commit); err != nil || found.ID.String() != commit {
				t.Errorf("%s: %s: %v", name, commit, err)
			}
		}
		if used := snapshot.CommitGraph() != nil; used != (name == "sound") ||
			dropped.told == used {
			t.Errorf("%s: the graph is used: %v; the observer is told that it is dropped: %v", name, used, dropped.told)
		}
		if err := snapshot.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
