package commitgraph

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

var paths = []string{"a", "b", "dir/one", "dir/two", "dir/sub/three", "\u00fcn\u00ef/caf\u00e9", "z"}

// history imports commits that each change some paths, with branches, merges of
// two and of several, and dates that go back now and then.
func history(t testing.TB, commits int) *gittest.Repo {
	t.Helper()
	repo := gittest.New(t)
	random := rand.New(rand.NewPCG(1, 2))
	var stream strings.Builder
	for i := 1; i <= commits; i++ {
		date := 1_700_000_000 + 60*i
		if random.IntN(20) == 0 {
			date -= 100_000
		}
		fmt.Fprintf(&stream, "commit refs/heads/b\nmark :%d\ncommitter A <a@example.com> %d +0000\ndata 1\nx\n", i, date)
		if i > 1 {
			parents := map[int]bool{}
			for range 1 + max(0, random.IntN(9)-6)*random.IntN(3) {
				parents[max(1, i-1-random.IntN(10))] = true
			}
			command := "from"
			for _, parent := range sortedKeys(parents) {
				fmt.Fprintf(&stream, "%s :%d\n", command, parent)
				command = "merge"
			}
		}
		for range random.IntN(3) {
			fmt.Fprintf(&stream, "M 100644 inline %q\ndata %d\n%d\n", paths[random.IntN(len(paths))],
				len(fmt.Sprint(i)), i)
		}
		fmt.Fprintln(&stream)
	}
	repo.GitInput([]byte(stream.String()), "fast-import", "--quiet", "--force", "--export-marks=marks")
	marks, err := os.ReadFile(filepath.Join(repo.Dir, "marks"))
	if err != nil {
		t.Fatal(err)
	}
	// Each commit has a branch. In files of their own they would take most of the time.
	var refs strings.Builder
	for line := range strings.Lines(string(marks)) {
		mark, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		fmt.Fprintf(&refs, "%s refs/heads/b%s\n", id, mark[1:])
	}
	repo.WriteFile("packed-refs", []byte(refs.String()))
	return repo
}

func sortedKeys(m map[int]bool) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// open parses the graph that git has written.
func open(t testing.TB, repo *gittest.Repo) *Graph {
	t.Helper()
	var graph *Graph
	for _, layer := range layers(t, repo) {
		next, err := Parse(layer, graph)
		if err != nil {
			t.Fatal(err)
		}
		graph = next
	}
	return graph
}

func layers(t testing.TB, repo *gittest.Repo) [][]byte {
	t.Helper()
	info := filepath.Join(repo.Dir, "objects/info")
	if data, err := os.ReadFile(filepath.Join(info, "commit-graph")); err == nil {
		return [][]byte{data}
	}
	chain, err := os.ReadFile(filepath.Join(info, "commit-graphs/commit-graph-chain"))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, name := range strings.Fields(string(chain)) {
		data, err := os.ReadFile(filepath.Join(info, "commit-graphs/graph-"+name+".graph"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

func TestGraphIsWhatGitSaysOfTheCommits(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*gittest.Repo){
		"single": func(r *gittest.Repo) { r.Git("commit-graph", "write", "--reachable", "--changed-paths") },
		"levels": func(r *gittest.Repo) {
			r.Git("-c", "commitGraph.generationVersion=1", "commit-graph", "write", "--reachable")
		},
		"chained": writeChain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := history(t, 600)
			write(repo)
			graph := open(t, repo)
			if name == "chained" && graph.layers() < 2 {
				t.Fatal("there is no chain")
			}
			commits, octopuses := 0, 0
			for line := range strings.Lines(repo.Git("log", "--all", "--format=%H %T %ct %P")) {
				fields := strings.Fields(line)
				at, ok := graph.Find(parse(t, fields[0]))
				if !ok {
					t.Fatalf("%s is not found", fields[0])
				}
				got := []string{hexID(graph.ID(at)), hexID(graph.Tree(at)), fmt.Sprint(graph.Date(at))}
				for parent := range graph.Parents(at) {
					got = append(got, hexID(graph.ID(parent)))
				}
				if !slices.Equal(got, fields) {
					t.Fatalf("the graph has %v, git %v", got, fields)
				}
				commits++
				if len(fields) > 5 {
					octopuses++
				}
			}
			if commits < 300 || octopuses == 0 || int(graph.Len()) != commits {
				t.Errorf("%d commits of %d were compared, %d with three parents or more", commits, graph.Len(),
					octopuses)
			}
			if _, ok := graph.Find(ID{1, 2, 3}); ok {
				t.Error("an unknown commit is found")
			}
		})
	}
}

// writeChain leaves two layers at least.
func writeChain(r *gittest.Repo) {
	half := r.Git("rev-list", "--all", "--skip=300", "--max-count=1")
	r.GitInput([]byte(half+"\n"), "commit-graph", "write", "--stdin-commits", "--split", "--changed-paths")
	r.Git("commit-graph", "write", "--reachable", "--split=no-merge", "--changed-paths")
}

func parse(t testing.TB, digits string) ID {
	t.Helper()
	id, err := hex.DecodeString(digits)
	if err != nil || len(id) != sha1.Size {
		t.Fatalf("%q is no id", digits)
	}
	return ID(id)
}

func hexID(id ID) string { return hex.EncodeToString(id[:]) }

// What a filter says is not changed, git does not change; and filters say so
// nearly as often as it is true.
func TestFiltersMissNoChange(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*gittest.Repo){
		"single":  func(r *gittest.Repo) { r.Git("commit-graph", "write", "--reachable", "--changed-paths") },
		"chained": writeChain,
	} {
		repo := history(t, 600)
		write(repo)
		graph := open(t, repo)
		if !graph.hasFilters() {
			t.Fatal("there are no filters")
		}
		same, said := 0, 0
		log := repo.Git("-c", "core.quotePath=false", "log", "--all", "--format=commit %H", "--name-only",
			"--diff-merges=first-parent", "--no-renames")
		for commit := range strings.SplitSeq(strings.TrimPrefix(log, "commit "), "\ncommit ") {
			id, changed, _ := strings.Cut(commit, "\n")
			at, _ := graph.Find(parse(t, id))
			for _, path := range append([]string{"dir", "dir/sub", "none"}, paths...) {
				may := graph.MayChange(at, NewPath(path))
				does := slices.ContainsFunc(strings.Split(changed, "\n"), func(c string) bool {
					return c == path ||
						strings.HasPrefix(c, path+"/")
				})
				if does && !may {
					t.Fatalf("%s: %s changes %s", name, id, path)
				}
				if !does {
					same++
				}
				if !may {
					said++
				}
			}
		}
		if same < 3000 || said < same*8/10 {
			t.Errorf("%s: of %d that do not change filters say %d", name, same, said)
		}
	}
}

// Wrong files are refused, whatever is wrong with them, although their checksum
// is right.
func TestWrongGraphsAreRefused(t *testing.T) {
	t.Parallel()
	repo := history(t, 200)
	repo.Git("commit-graph", "write", "--reachable", "--changed-paths")
	sound := layers(t, repo)[0]
	if _, err := Parse(sound, nil); err != nil {
		t.Fatal(err)
	}
	chunk := func(name string) int {
		for i := range int(sound[6]) {
			if entry := sound[headerBytes+i*chunkBytes:]; string(entry[:4]) == name {
				return int(binary.BigEndian.Uint64(entry[4:]))
			}
		}
		t.Fatalf("there is no chunk %s", name)
		return 0
	}
	commit := chunk("CDAT") + 50*commitBytes
	for name, damage := range map[string]func([]byte){
		"signature":      func(b []byte) { b[0] = 'X' },
		"version":        func(b []byte) { b[4] = 2 },
		"hash":           func(b []byte) { b[5] = 2 },
		"chunks":         func(b []byte) { b[6] = 200 },
		"layers":         func(b []byte) { b[7] = 1 },
		"chunk's place":  func(b []byte) { b[headerBytes+chunkBytes+4] = 0xff },
		"fan-out":        func(b []byte) { b[chunk("OIDF")+3] = 0xff },
		"order of ids":   func(b []byte) { b[chunk("OIDL")+20*30] ^= 0xff },
		"parent":         func(b []byte) { binary.BigEndian.PutUint32(b[commit+20:], 100_000) },
		"own parent":     func(b []byte) { binary.BigEndian.PutUint32(b[commit+20:], 50) },
		"list of edges":  func(b []byte) { binary.BigEndian.PutUint32(b[commit+24:], manyBit|1_000_000) },
		"level":          func(b []byte) { binary.BigEndian.PutUint32(b[commit+28:], 0) },
		"corrected date": func(b []byte) { binary.BigEndian.PutUint32(b[chunk("GDA2")+4*50:], overflow|77) },
	} {
		damaged := slices.Clone(sound)
		damage(damaged)
		sum := sha1.Sum(damaged[:len(damaged)-sha1.Size])
		copy(damaged[len(damaged)-sha1.Size:], sum[:])
		if _, err := Parse(damaged, nil); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	damaged := slices.Clone(sound)
	damaged[commit] ^= 1 // a tree's id: only the checksum tells
	if _, err := Parse(damaged, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("checksum: %v", err)
	}
	for cut := range len(sound) {
		if _, err := Parse(sound[:cut], nil); !errors.Is(err, ErrMalformed) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// FuzzParse asks everything of what Parse takes, with a right checksum: nothing
// fails, and every walk ends.
func FuzzParse(f *testing.F) {
	for _, commits := range []int{1, 30} {
		repo := history(f, commits)
		repo.Git("commit-graph", "write", "--reachable", "--changed-paths")
		f.Add(layers(f, repo)[0])
	}
	path := NewPath("dir/sub/three")
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < sha1.Size {
			return
		}
		sum := sha1.Sum(data[:len(data)-sha1.Size])
		copy(data[len(data)-sha1.Size:], sum[:])
		graph, err := Parse(data, nil)
		if err != nil {
			return
		}
		for at := range graph.Len() {
			if found, ok := graph.Find(graph.ID(at)); !ok || found != at {
				t.Fatalf("%d is found at %d", at, found)
			}
			for parent := range graph.Parents(at) {
				if graph.Level(parent) >= graph.Level(at) || graph.Generation(parent) >= graph.Generation(at) {
					t.Fatalf("%d is no ancestor of %d", parent, at)
				}
			}
			graph.MayChange(at, path)
			graph.Tree(at)
		}
	})
}
