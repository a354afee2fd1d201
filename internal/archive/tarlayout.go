package archive

import (
	"io"

	"github.com/repomcp/repomcp/internal/repos"
)

func (t tarFormat) opening(out []byte, p *Plan) ([]byte, error) {
	if !p.head.Commit.IsZero() {
		out = t.globalHeader(out, p.head.Commit)
	}
	if folder := p.folder(); folder != nil {
		out = t.header(out, entry{path: folder, mode: repos.ModeDir, id: p.head.Tree}, 0, nil)
	}
	return out, nil
}

func (t tarFormat) bare(_ *run, out []byte, e entry, target []byte) ([]byte, error) {
	return t.header(out, e, 0, target), nil
}

// read reads a file's content to where it belongs, and completes the header
// before it, since the size is known only then.
func (t tarFormat) read(r *run, buffer []byte, e entry, limit int64) ([]byte, error) {
	out := t.header(buffer, e, 0, nil)
	content := len(out)
	out, err := r.source.ReadBlob(e.id, limit, out)
	if err != nil {
		return buffer, err
	}
	size := len(out) - content
	// The last record is the file's own header, also after a pax header.
	header := out[content-recordSize : content]
	octal(header[sizeAt:], longDigits, int64(size))
	checksum(header)
	return pad(out, size), nil
}

func (t tarFormat) whole(_ *run, out []byte, e entry, content []byte) ([]byte, error) {
	out = append(t.header(out, e, int64(len(content)), nil), content...)
	return pad(out, len(content)), nil
}

func (t tarFormat) held() bool { return true }

func (t tarFormat) stream(l *pipeline, e entry, size int64, write func(io.Writer) error) error {
	if err := l.write(t.header(nil, e, size, nil)); err != nil {
		return err
	}
	if err := write(l); err != nil {
		return err
	}
	return l.write(pad(nil, int(size%recordSize)))
}

func (t tarFormat) taken(*run) {}

func (t tarFormat) closing(l *pipeline) error { return l.write(trailer(l.written)) }
