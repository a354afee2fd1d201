package archive

import (
	"io"

	"github.com/repomcp/repomcp/internal/archive/tar"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// tarLayout writes tar as git archive does.
type tarLayout struct{ format tar.Format }

func (p *Plan) tarLayout() tarLayout { return tarLayout{tar.Format{MTime: p.head.Date}} }

func (t tarLayout) opening(out []byte, p *Plan) ([]byte, error) {
	if !p.head.Commit.IsZero() {
		out = t.format.GlobalHeader(out, p.head.Commit)
	}
	if folder := p.folder(); folder != nil {
		out = t.format.Header(out, tar.Member{Path: folder, Mode: git.ModeDir, ID: p.head.Tree}, 0, nil)
	}
	return out, nil
}

func (t tarLayout) appendBare(_ *run, out []byte, e tree.Entry, target []byte) ([]byte, error) {
	return t.header(out, e, 0, target), nil
}

// appendBlob reads a file's content into place, and then completes the header before it, because
// the size is only known then.
func (t tarLayout) appendBlob(r *run, buffer []byte, e tree.Entry, limit int64) ([]byte, error) {
	out, _, err := t.appendRead(r, buffer, e, limit)
	return out, err
}

// appendRead is appendBlob, and also returns the content, which is a part of the output.
func (t tarLayout) appendRead(
	r *run, buffer []byte, e tree.Entry, limit int64,
) (longer, content []byte, err error) {
	out := t.header(buffer, e, 0, nil)
	start := len(out)
	if out, err = r.Source.ReadBlob(e.ID, limit, out); err != nil {
		return buffer, nil, err
	}
	end := len(out)
	tar.SetSize(out[:start], int64(end-start))
	out = tar.Pad(out, int64(end-start))
	return out, out[start:end], nil
}

func (t tarLayout) appendContent(_ *run, out []byte, e tree.Entry, content []byte) ([]byte, error) {
	out = append(t.header(out, e, int64(len(content)), nil), content...)
	return tar.Pad(out, int64(len(content))), nil
}

func (t tarLayout) appendPatch(r *run, out []byte, e tree.Entry) (longer []byte, patched bool, err error) {
	return r.patches.append(t, r.Source, out, e, r.limits.BlobBytes)
}

func (t tarLayout) buffersLarge() bool { return true }

func (t tarLayout) stream(l *pipeline, e tree.Entry, size int64, write func(io.Writer) error) error {
	if err := l.write(t.header(nil, e, size, nil)); err != nil {
		return err
	}
	if err := write(l); err != nil {
		return err
	}
	return l.write(tar.Pad(nil, size))
}

func (t tarLayout) beforeWrite(*run) error { return nil }

func (t tarLayout) closing(l *pipeline) error { return l.write(tar.Trailer(l.written)) }

func (t tarLayout) header(out []byte, e tree.Entry, size int64, target []byte) []byte {
	return t.format.Header(out, tar.Member{Path: e.Path, Mode: e.Mode, ID: e.ID}, size, target)
}
