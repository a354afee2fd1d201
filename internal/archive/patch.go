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
	// minPatched is the length from which a patch can make a member smaller, because its additional
	// header has 1 KiB.
	minPatched = 1 << 10
	// mostCareful bounds the files of one archive that get the best compression, at 2 ms each. For
	// more files, time matters more than bytes.
	mostCareful = 256
)

// patching makes patches of an archive's modified files. It is safe for concurrent use.
type patching struct {
	engine *Engine
	quick  bool
}

// newPatching returns nil if files are sent whole.
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

// patcher is the state of one worker.
type patcher struct {
	zstd.Patcher
	before, after, patch []byte
}

// append appends a file's member as a patch, unless that is larger than the file's own member.
// After an error, and without a patch, out is unchanged.
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

// make reads both contents and makes the patch. It returns false for contents that are not patched.
func (t *patcher) make(source tree.Source, e tree.Entry, limit int64, quick bool) (bool, error) {
	id, err := e.ID, error(nil)
	if t.after, err = source.ReadBlob(id, min(zstd.MaxPatched, limit), t.after[:0]); err == nil {
		id = e.Base
		t.before, err = source.ReadBlob(id, zstd.MaxPatched, t.before[:0])
	}
	if errors.Is(err, git.ErrTooLarge) {
		return false, nil
	}
	if err != nil {
		return false, git.MustExist(id, err)
	}
	if min(len(t.before), len(t.after)) < minPatched {
		return false, nil
	}
	t.patch, err = t.Append(t.patch[:0], t.before, t.after, quick)
	return err == nil, err
}
