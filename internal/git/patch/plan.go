package patch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
)

// Form is how changes are written.
type Form string

// The forms, by their usual suffixes.
const (
	// Diff is the output of git diff.
	Diff Form = "diff"
	// Mails is that of git format-patch --stdout --signature=repomcp: a mailbox with a mail for
	// each commit that changes files.
	Mails Form = "patch"
)

// Forms are all forms.
func Forms() []Form { return []Form{Diff, Mails} }

// version is part of all tags. It changes when other bytes are made of the same commits.
const version = "patch 2"

const tagBytes = 16

// Plan is a patch that can be written. It is used by one goroutine at a time.
type Plan struct {
	snapshot *git.Snapshot
	cache    *history.Cache
	form     Form
	steps    []history.Step
	tag      string
	memory   int64
	// digits is the length of abbreviated ids, and lengths are those of ids with another one.
	digits  int
	lengths map[git.ID]int
}

// New examines the files that differ in the steps. A diff has one step, whose zero parent is the
// empty tree. The snapshot must stay open. The error is [history.ErrTooMany], [git.ErrCorrupt] or
// the context's.
func New(
	ctx context.Context, snapshot *git.Snapshot, cache *history.Cache, form Form, steps []history.Step,
) (*Plan, error) {
	p := &Plan{snapshot: snapshot, cache: cache, form: form, steps: steps, lengths: make(map[git.ID]int)}
	if err := p.findDigits(); err != nil {
		return nil, err
	}
	e := examination{plan: p, sum: sha256.New()}
	_, _ = fmt.Fprintf(e.sum, "%s\x00%s\x00%s\x00%d", version, form, Signature, p.digits) // a hash cannot fail
	for _, step := range steps {
		if err := e.add(ctx, step); err != nil {
			return nil, err
		}
	}
	p.tag = hex.EncodeToString(e.sum.Sum(nil)[:tagBytes])
	p.memory = writerMemory + int64(len(steps))*stepBytes + int64(len(p.lengths))*lengthBytes + e.most
	return p, nil
}

// Tag is opaque, and names the bytes: equal tags mean equal bytes, on every server.
func (p *Plan) Tag() string { return p.tag }

// Memory is how many bytes WriteTo holds at most.
func (p *Plan) Memory() int64 { return p.memory }

// examination looks at all files that differ, without their contents.
type examination struct {
	plan *Plan
	sum  hash.Hash
	most int64 // memory of the most expensive step
	cost cost  // of the present step
}

func (e *examination) add(ctx context.Context, step history.Step) error {
	_, _ = e.sum.Write(step.Commit[:])
	_, _ = e.sum.Write(step.Parent[:])
	e.cost = cost{}
	if e.plan.form == Mails {
		size, err := e.plan.snapshot.Size(step.Commit)
		if err != nil {
			return git.MustExist(step.Commit, err)
		}
		e.cost.message = size
	}
	err := history.VisitChanges(ctx, e.plan.snapshot, e.plan.cache, step.Parent, step.Commit, e.file)
	e.most = max(e.most, e.cost.memory())
	return err
}

// file notes a file that differs. An object that is missing is found here, before the first byte.
func (e *examination) file(c history.FileChange) (err error) {
	var sizes [2]int64
	for i, side := range []struct {
		mode git.Mode
		id   git.ID
	}{{c.OldMode, c.OldID}, {c.NewMode, c.NewID}} {
		if side.mode == 0 {
			continue
		}
		if err := e.abbreviate(side.id); err != nil {
			return err
		}
		if side.mode.IsGitlink() {
			continue
		}
		if sizes[i], err = e.plan.snapshot.Size(side.id); err != nil {
			return git.MustExist(side.id, err)
		}
	}
	return e.cost.add(c, sizes[0], sizes[1])
}

// abbreviate finds the length of an id that is written. It is part of the tag.
func (e *examination) abbreviate(id git.ID) error {
	short, err := e.plan.snapshot.Abbreviate(id, automatic)
	if err != nil {
		return err
	}
	if len(short) != e.plan.digits {
		_, _ = fmt.Fprintf(e.sum, "%s %d", id, len(short))
		e.plan.lengths[id] = len(short)
	}
	return nil
}

// findDigits finds the length of most abbreviated ids.
func (p *Plan) findDigits() error {
	short, err := p.snapshot.Abbreviate(git.ID{}, automatic)
	p.digits = len(short)
	return err
}

// abbreviate returns what was found beforehand: a fetch while the patch is written changes nothing.
func (p *Plan) abbreviate(id git.ID) (string, error) {
	if length, other := p.lengths[id]; other {
		return id.String()[:length], nil
	}
	return id.String()[:p.digits], nil
}

// automatic selects git's default length of abbreviations.
const automatic = -1
