package snapshottest

import "github.com/repomcp/repomcp/internal/git"

// Recorder is a [git.Observer] that notes the fate of commit-graphs. One goroutine may use it.
type Recorder struct {
	GraphsRefused, GraphsDropped []error
}

// Panicked implements [git.Observer].
func (*Recorder) Panicked(error) {}

// Resolved implements [git.Observer].
func (*Recorder) Resolved(error) {}

// RefsListed implements [git.Observer].
func (*Recorder) RefsListed(int, int, git.Ref) {}

// CommitGraphRead implements [git.Observer].
func (r *Recorder) CommitGraphRead(err error) {
	if err != nil {
		r.GraphsRefused = append(r.GraphsRefused, err)
	}
}

// CommitGraphDropped implements [git.Observer].
func (r *Recorder) CommitGraphDropped(err error) { r.GraphsDropped = append(r.GraphsDropped, err) }
