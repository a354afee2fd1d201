package archive

import (
	"io"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/archive/zip"
	"github.com/repomcp/repomcp/internal/git"
)

// zipLayout writes zip as git archive does. Single workers deflate small files, and all workers
// together deflate large ones as streams. The choice depends only on the size, so that the bytes
// are deterministic.
type zipLayout struct {
	format    *zip.Format
	directory *zip.Directory
}

func (p *Plan) zipLayout() *zipLayout {
	format := zip.New(p.engine.gzip, int64(p.head.Date))
	return &zipLayout{format: format, directory: format.NewDirectory()}
}

func (z *zipLayout) opening(out []byte, p *Plan) ([]byte, error) {
	folder := p.folder()
	if folder == nil {
		return out, nil
	}
	out, records, err := z.format.Append(nil, out, nil, zip.Member{Path: folder, Mode: uint32(git.ModeDir)}, nil)
	z.directory.Add(records)
	return out, err
}

func (z *zipLayout) appendBare(r *run, out []byte, e tree.Entry, target []byte) ([]byte, error) {
	return z.appendContent(r, out, e, target)
}

func (z *zipLayout) appendBlob(r *run, out []byte, e tree.Entry, limit int64) ([]byte, error) {
	var err error
	if r.stored, err = r.Source.ReadBlob(e.ID, limit, r.stored[:0]); err != nil {
		return out, err
	}
	return z.appendContent(r, out, e, r.stored)
}

func (z *zipLayout) appendContent(r *run, out []byte, e tree.Entry, content []byte) ([]byte, error) {
	var err error
	out, r.records, err = z.format.Append(r.worker, out, r.records, member(e), content)
	return out, err
}

func (z *zipLayout) buffersLarge() bool { return false }

func (z *zipLayout) stream(l *pipeline, e tree.Entry, size int64, write func(io.Writer) error) error {
	s, err := z.format.Stream(l.ctx, l, member(e), size)
	if err != nil {
		return err
	}
	defer s.Abort()
	if err := write(s); err != nil {
		return err
	}
	records, err := s.Finish(nil)
	z.directory.Add(records)
	return err
}

func (z *zipLayout) beforeWrite(r *run) error {
	z.directory.Add(r.records)
	r.records = r.records[:0]
	return nil
}

func (z *zipLayout) closing(l *pipeline) error {
	comment := ""
	if head := l.plan.head; !head.Commit.IsZero() {
		comment = head.Commit.String()
	}
	return z.directory.Write(l, comment)
}

func member(e tree.Entry) zip.Member {
	return zip.Member{Path: e.Path, Mode: uint32(e.Mode), Content: kindOf(e.Treatment)}
}

// kindOf returns the kind of a content by its diff attribute, for unzip -a.
func kindOf(t *tree.Treatment) zip.Content {
	if t == nil {
		return zip.Guess
	}
	switch t.Diff.State {
	case attributes.Set:
		return zip.Text
	case attributes.Unset:
		return zip.Binary
	default:
		return zip.Guess
	}
}
