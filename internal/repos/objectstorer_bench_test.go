package repos

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/objects"
)

// sources makes a repository of one commit with Go's own source tree, packed
// as `git repack -adf` packs it, and gives the blobs of HEAD in tree order.
func sources(b *testing.B) (root string, blobs []objects.ID) {
	b.Helper()
	root = b.TempDir()
	repo := gittest.At(b, filepath.Join(root, "repo.git"))
	src := filepath.Join(goroot(b), "src")
	repo.Git("--work-tree="+src, "add", "-f", "-A", ".")
	tree := repo.Git("write-tree")
	repo.Git("update-ref", "refs/heads/main", repo.Git("commit-tree", "-m", "sources", tree))
	_ = os.Remove(filepath.Join(repo.Dir, "index"))
	repo.Git("repack", "-adfq")
	repo.Git("prune-packed")
	for line := range strings.Lines(repo.Git("ls-tree", "-r", "main")) {
		id, err := objects.ParseID(strings.Fields(line)[2])
		if err != nil {
			b.Fatal(err)
		}
		blobs = append(blobs, id)
	}
	return root, blobs
}

func goroot(b *testing.B) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// BenchmarkBlobs reads all blobs of HEAD with a fresh store each time, in turn
// with go-git and with git cat-file, and reports medians of the ratios: of wall
// time, and of processor time, which other load on the machine disturbs less.
func BenchmarkBlobs(b *testing.B) {
	root, blobs := sources(b)
	var input strings.Builder
	for _, id := range blobs {
		input.WriteString(id.String() + "\n")
	}
	var wall, cpu, wallOfTwo, wallOfGit, cpuOfGit, cost []float64
	for b.Loop() {
		theirs := measure(b, func() { readGoGit(b, root, blobs) })
		git := measure(b, func() { runGit(b, root, input.String(), "cat-file", "--buffer", "--batch") })
		ours := measure(b, func() { readOurs(b, root, blobs, 1) })
		two := measure(b, func() { readOurs(b, root, blobs, 2) })
		wall, cpu = append(wall, ours.wall/theirs.wall), append(cpu, ours.cpu/theirs.cpu)
		wallOfTwo = append(wallOfTwo, two.wall/theirs.wall)
		wallOfGit, cpuOfGit = append(wallOfGit, ours.wall/git.wall), append(cpuOfGit, ours.cpu/git.cpu)
		cost = append(cost, 1000*ours.cpu)
	}
	b.ReportMetric(median(wall), "wall/go-git")
	b.ReportMetric(median(cpu), "cpu/go-git")
	b.ReportMetric(median(wallOfTwo), "wall-of-two/go-git")
	b.ReportMetric(median(wallOfGit), "wall/cat-file")
	b.ReportMetric(median(cpuOfGit), "cpu/cat-file")
	b.ReportMetric(median(cost), "cpu-ms")
}

// BenchmarkSizes asks for the sizes of all blobs of HEAD, in turn with
// `git ls-tree -r -l`.
func BenchmarkSizes(b *testing.B) {
	root, blobs := sources(b)
	var wall, cpu, cost []float64
	for b.Loop() {
		git := measure(b, func() { runGit(b, root, "", "ls-tree", "-r", "-l", "main") })
		ours := measure(b, func() { sizes(b, root, blobs) })
		wall, cpu = append(wall, ours.wall/git.wall), append(cpu, ours.cpu/git.cpu)
		cost = append(cost, 1000*ours.cpu)
	}
	b.ReportMetric(median(wall), "wall/ls-tree")
	b.ReportMetric(median(cpu), "cpu/ls-tree")
	b.ReportMetric(median(cost), "cpu-ms")
}

// cost is what something took, in seconds; cpu counts subprocesses too.
type cost struct{ wall, cpu float64 }

func measure(b *testing.B, do func()) cost {
	b.Helper()
	runtime.GC()
	before, start := processor(b), time.Now()
	do()
	return cost{time.Since(start).Seconds(), processor(b) - before}
}

func processor(b *testing.B) float64 {
	b.Helper()
	total := 0.0
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	}
	return total
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func runGit(b *testing.B, root, input string, args ...string) {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = filepath.Join(root, "repo.git"), gittest.Env()
	cmd.Stdin, cmd.Stdout = strings.NewReader(input), io.Discard
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
}

func readGoGit(b *testing.B, root string, blobs []objects.ID) {
	b.Helper()
	storage := filesystem.NewStorageWithOptions(osfs.New(filepath.Join(root, "repo.git"), osfs.WithBoundOS()),
		cache.NewObjectLRUDefault(), filesystem.Options{KeepDescriptors: true})
	defer func() { _ = storage.Close() }()
	for _, id := range blobs {
		object, err := storage.EncodedObject(plumbing.BlobObject, plumbing.Hash(id))
		if err != nil {
			b.Fatal(err)
		}
		r, err := object.Reader()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			b.Fatal(err)
		}
		_ = r.Close()
	}
}

// withSnapshot opens the repository in a store of its own.
func withSnapshot(b *testing.B, root string, do func(*objects.Snapshot)) {
	b.Helper()
	store, err := objects.New(root, objects.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db, err := store.Open("repo.git")
	if err != nil {
		b.Fatal(err)
	}
	snapshot, err := db.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = snapshot.Close() }()
	do(snapshot)
}

// readOurs reads with workers that take every nth blob, as an archive does.
func readOurs(b *testing.B, root string, blobs []objects.ID, workers int) {
	b.Helper()
	withSnapshot(b, root, func(snapshot *objects.Snapshot) {
		failures := make(chan error, workers)
		for w := range workers {
			go func() {
				var buf []byte
				var failure error
				for i := w; i < len(blobs) && failure == nil; i += workers {
					_, data, err := snapshot.Read(blobs[i], 64<<20, buf[:0])
					buf, failure = data, err
				}
				failures <- failure
			}()
		}
		var all error
		for range workers {
			all = errors.Join(all, <-failures)
		}
		if all != nil {
			b.Fatal(all)
		}
	})
}

func sizes(b *testing.B, root string, blobs []objects.ID) {
	b.Helper()
	withSnapshot(b, root, func(snapshot *objects.Snapshot) {
		for _, id := range blobs {
			if _, _, err := snapshot.Stat(id); err != nil {
				b.Fatal(err)
			}
		}
	})
}
