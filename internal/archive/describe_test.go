package archive_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// walked counts the commits that are read, and has no refs but tags.
type walked struct {
	*git.Snapshot
	commits int
}

func (w *walked) RawCommit(id git.ID) ([]byte, error) {
	w.commits++
	return w.Snapshot.RawCommit(id)
}

func (w *walked) Refs() ([]git.Ref, error) {
	return nil, errors.New("what every ref leads to takes long, where there are many")
}

// TestHistoryIsWalkedOnceToDescribe makes a validator, a length and the bytes, in
// all of which there is the description.
func TestHistoryIsWalkedOnceToDescribe(t *testing.T) {
	repo := gittest.New(t)
	files := []gittest.File{gittest.Regular(".gitattributes", "version export-subst\n"),
		gittest.Regular("version", "$Format:%(describe)$")}
	repo.Commit("main", files...)
	repo.Git("tag", "-a", "-m", "one", "v1.0", "main")
	const later = 50
	for range later {
		repo.Commit("main", files...)
	}
	repo.Git("pack-refs", "--all")
	o := open(t, repo)
	commit, err := o.snapshot.ResolveTreeish(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := archive.NewEngine(archive.EngineOptions{}) // one that remembers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	source := &walked{Snapshot: o.snapshot}
	p, err := engine.Plan(t.Context(), source, commit, archive.Options{Format: archive.Tar})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := p.Validator(t.Context()); err != nil || !v.Weak {
		t.Errorf("%+v, %v", v, err)
	}
	if source.commits != later+1 {
		t.Errorf("%d commits were read for a validator, want %d", source.commits, later+1)
	}
	measure, err := p.Measure(t.Context())
	if err != nil {
		t.Error(err)
	}
	got := write(t, p)
	if !bytes.Equal(got, repo.Archive("--format=tar", "main")) || measure.Bytes != int64(len(got)) {
		t.Errorf("the tar of %d bytes, measured %d, is not git's", len(got), measure.Bytes)
	}
	if source.commits != later+1 {
		t.Errorf("%d commits were read for all, want %d", source.commits, later+1)
	}
}
