package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
)

// sizes are files around every bound of the pipeline: those that share a run,
// that are held, and that are streamed, between small ones.
func sizes() []gittest.File {
	var files []gittest.File
	for i, size := range []int{0, 1, 511, 512, 513, 127 << 10, 128 << 10, 128<<10 + 1, 200 << 10, 256 << 10, 1 << 20,
		4 << 20, 4<<20 + 1} {
		for j := range gittest.Volume(1, 3) {
			files = append(files, gittest.Regular(fmt.Sprintf("%02d/%d/large", i, j), gittest.Noise(size + j)[j:]))
			for k := range 5 {
				files = append(files, gittest.Regular(fmt.Sprintf("%02d/%d/small%d", i, j, k),
					strings.Repeat("x", 1000*k)))
			}
		}
	}
	return files
}

// TestBytesAreTheSameForAnyNumberOfWorkersAndNeighbours makes archives with
// several engines, several at a time on each, so that buffers run out and files
// are shared, and compares all with git.
func TestBytesAreTheSameForAnyNumberOfWorkersAndNeighbours(t *testing.T) {
	gittest.Long(t)
	repo := gittest.New(t)
	commit := repo.Commit("main", sizes()...)
	repo.Git("repack", "-adq")
	want := repo.Archive("--format=tar", commit)
	catalogue, err := repos.Open(filepath.Dir(repo.Dir), repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	}()
	var zipped []byte
	for _, workers := range []int{1, 2, 7} {
		engine, err := archive.NewEngine(archive.EngineOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		const atOnce = 4
		outs, errs := make([]bytes.Buffer, atOnce), make([]error, atOnce)
		var running sync.WaitGroup
		for i := range atOnce {
			running.Go(func() { errs[i] = writeOne(t, catalogue, engine, i%2 == 0, &outs[i]) })
		}
		running.Wait()
		engine.Close()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for i := range outs {
			switch {
			case i%2 == 0 && !bytes.Equal(outs[i].Bytes(), want):
				t.Errorf("%d workers, archive %d: the tar differs from git's", workers, i)
			case i%2 == 1 && zipped == nil:
				zipped = outs[i].Bytes()
				if !bytes.Equal(gunzip(t, zipped), want) {
					t.Error("the tar inside gzip differs from git's")
				}
			case i%2 == 1 && !bytes.Equal(outs[i].Bytes(), zipped):
				t.Errorf("%d workers, archive %d: the gzip stream differs", workers, i)
			}
		}
	}
}

func writeOne(t *testing.T, catalogue *repos.Catalogue, engine *archive.Engine, plain bool,
	out *bytes.Buffer) (err error) {
	repository, err := catalogue.Get("repo")
	if err != nil {
		return err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	commit, err := snapshot.ResolveTreeish(t.Context(), "main")
	if err != nil {
		return err
	}
	options := archive.Options{Format: archive.TarGz}
	if plain {
		options.Format = archive.Tar
	}
	plan, err := engine.Plan(t.Context(), snapshot, commit, options)
	if err != nil {
		return err
	}
	return plan.WriteTo(t.Context(), out)
}

func TestUnknownLevelIsRefused(t *testing.T) {
	for _, level := range []int{-1, 10} {
		if _, err := archive.NewEngine(archive.EngineOptions{Level: level}); err == nil {
			t.Errorf("level %d was accepted", level)
		}
	}
}

// A file whose id it is not is never written, wherever it is among sound ones;
// and where another pack has it, that copy is.
func TestAFileOfAnotherIDIsNotWritten(t *testing.T) {
	gittest.Long(t)
	repo := gittest.New(t)
	var files []gittest.File
	for i := range 200 {
		files = append(files, gittest.Regular(fmt.Sprintf("%03d", i), fmt.Sprint(i, strings.Repeat(" text", 10*i))))
	}
	// Large ones and what follows them are compared together, but for the largest.
	files = append(files, gittest.Regular("large", gittest.Noise(300<<10)),
		gittest.Regular("more", gittest.Noise(301<<10)),
		gittest.Regular("next", "small"), gittest.Symlink("next link", "target"), gittest.Regular("z largest",
			gittest.Noise(5<<20)))
	for i := range 6 {
		files = append(files, gittest.Regular(fmt.Sprint("part", i), gittest.Noise(700<<10+i)))
	}
	commit := repo.Commit("main", files...)
	repo.Git("repack", "-adq")
	want := repo.Archive("--format=tar", commit)
	sound := gittest.New(t)
	sound.Commit("main", files...)
	sound.Git("repack", "-adq")
	id := func(path string) string { return repo.Git("rev-parse", "main:"+path) }
	pairs := [][2]string{{"000", "001"}, {"100", "199"}, {"large", "more"}, {"199", "next"}, {"part0", "part4"},
		{"part5", "large"}}
	for _, pair := range pairs {
		a, b := id(pair[0]), id(pair[1])
		repo.SwapOffsets(a, b)
		for _, format := range []archive.Format{archive.Tar, archive.TarGz, archive.TarZst, archive.Zip} {
			var out bytes.Buffer
			err := plan(t, repo, commit, archive.Options{Format: format}).WriteTo(t.Context(), &out)
			if !errors.Is(err, git.ErrCorrupt) {
				t.Errorf("%s with %v swapped: %v", format, pair, err)
			}
			if format == archive.Tar && !bytes.HasPrefix(want, out.Bytes()) {
				t.Errorf("wrong bytes were written with %v swapped", pair)
			}
		}
		repo.SwapOffsets(a, b)
	}
	for _, pair := range pairs {
		repo.SwapOffsets(id(pair[0]), id(pair[1]))
	}
	repo.CopyPack(sound)
	var out bytes.Buffer
	if err := plan(t, repo, commit, archive.Options{Format: archive.Tar}).WriteTo(t.Context(), &out); err != nil ||
		!bytes.Equal(out.Bytes(), want) {
		t.Errorf("with sound copies: %d bytes, %v", out.Len(), err)
	}
}
