package archive

import (
	"io"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/zip"
	"github.com/repomcp/repomcp/internal/repos"
)

// zipLayout writes zip as git archive does. Small files are deflated by
// workers, each as a whole; others by all workers together, while they flow.
// Which of the two is decided by size alone, so that the bytes are always the
// same.
type zipLayout struct {
	format    *zip.Format
	directory *zip.Directory
}

func (p *Plan) zipLayout() (*zipLayout, error) {
	format, err := zip.New(p.engine.gzip, p.engine.gzipLevel, int64(p.commit.Date))
	if err != nil {
		return nil, err
	}
	return &zipLayout{format: format, directory: format.NewDirectory()}, nil
}

func (z *zipLayout) opening(out []byte, p *Plan) ([]byte, error) {
	folder := p.folder()
	if folder == nil {
		return out, nil
	}
	out, records, err := z.format.Append(nil, out, nil, zip.Member{Path: folder, Mode: uint32(repos.ModeDir)}, nil)
	z.directory.Add(records)
	return out, err
}

func (z *zipLayout) bare(r *run, out []byte, e entry, target []byte) ([]byte, error) {
	return z.whole(r, out, e, target)
}

func (z *zipLayout) read(r *run, out []byte, e entry, limit int64) ([]byte, error) {
	var err error
	if r.stored, err = r.source.ReadBlob(e.id, limit, r.stored[:0]); err != nil {
		return out, err
	}
	return z.whole(r, out, e, r.stored)
}

func (z *zipLayout) whole(r *run, out []byte, e entry, content []byte) ([]byte, error) {
	var err error
	out, r.records, err = z.format.Append(r.worker, out, r.records, member(e), content)
	return out, err
}

func (z *zipLayout) held() bool { return false }

func (z *zipLayout) stream(l *pipeline, e entry, size int64, write func(io.Writer) error) error {
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

func (z *zipLayout) taken(r *run) {
	z.directory.Add(r.records)
	r.records = r.records[:0]
}

func (z *zipLayout) closing(l *pipeline) error {
	return z.directory.Write(l, l.plan.commit.ID.String())
}

func member(e entry) zip.Member {
	return zip.Member{Path: e.path, Mode: uint32(e.mode), Content: e.treatment.kind()}
}

// kind is what the diff attribute says of a content, for unzip -a.
func (t *treatment) kind() zip.Content {
	if t == nil {
		return zip.Guess
	}
	switch t.diff.State {
	case attributes.Set:
		return zip.Text
	case attributes.Unset:
		return zip.Binary
	default:
		return zip.Guess
	}
}
