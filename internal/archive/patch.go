package archive

import (
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/archive/compress/zstd"
	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// minPatched is the length from which a member gets smaller by a patch, whose
	// further header has 1 KiB.
	minPatched = 1 << 10
	// mostCareful is how many files of one archive are patched with care, which takes
	// 2 ms for each. Of more the bytes count less than the time.
	mostCareful = 256
)

// patching makes patches of the modified files of an archive. Workers use it at the
// same time.
type patching struct {
	engine *Engine
	quick  bool
}

// newPatching is nil where files are sent whole.
func (p *Plan) newPatching() *patching {
	if p.options.Delta != DeltaPatch {
		return nil
	}
	files := 0
	for range p.changes.Bases() {
		files++
	}
	return &patching{p.engine, files > mostCareful}
}

// patcher is what one worker needs for that.
type patcher struct {
	zstd.Patcher
	before, after, patch []byte
}

// append appends the member of a file as a patch, unless it is larger than that of
// the file itself. After an error, and without a patch, out is as it was.
func (p *patching) append(
	layout tarLayout, source tree.Source, out []byte, e tree.Entry, limit int64,
) (longer []byte, patched bool, err error) {
	tool := p.engine.patchers.Get().(*patcher)
	defer p.engine.patchers.Put(tool)
	if ok, err := tool.make(source, e, limit, p.quick); !ok || err != nil {
		return out, false, err
	}
	size, length := int64(len(tool.after)), int64(len(tool.patch))
	start := len(out)
	out = layout.format.Header(out, tar.Member{
		Path: e.Path, Mode: e.Mode, ID: e.ID, Patch: fmt.Sprint(e.Base, " ", e.ID, " ", size),
	}, length, nil)
	whole := tar.HeaderLength(e.Path, size, 0) + tar.PaddedLength(size)
	if int64(len(out)-start)+tar.PaddedLength(length) >= whole {
		return out[:start], false, nil
	}
	return tar.Pad(append(out, tool.patch...), length), true, nil
}

// make reads both contents and makes the patch. It is false for contents that are
// not patched.
func (t *patcher) make(source tree.Source, e tree.Entry, limit int64, quick bool) (bool, error) {
	var err error
	if t.after, err = source.ReadBlob(e.ID, min(zstd.MaxPatched, limit), t.after[:0]); err == nil {
		t.before, err = source.ReadBlob(e.Base, zstd.MaxPatched, t.before[:0])
	}
	if errors.Is(err, git.ErrTooLarge) {
		return false, nil
	}
	if err != nil {
		return false, tree.Damaged(err)
	}
	if min(len(t.before), len(t.after)) < minPatched {
		return false, nil
	}
	t.patch, err = t.Append(t.patch[:0], t.before, t.after, quick)
	return err == nil, err
}
