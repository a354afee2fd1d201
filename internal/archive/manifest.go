package archive

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/archive/content"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/lfs"
)

// manifestLayout writes one JSON document with a line for each entry, in archive order: first a
// description of the archive, then "entries", and last the fields that are only known at the end,
// so that a truncated document is invalid JSON.
//
// The fields of an entry are:
//
//	path        the member's, percent-encoded as in a URI
//	pathBase64  its bytes, if they are not UTF-8
//	type        file, directory, symlink or submodule
//	mode        as in the tree, six octal digits
//	id          of the blob, the tree, or the submodule's commit
//	size        of a file or link: in the repository
//	converted   true if attributes change the content, so
//	            that the archive may have another size
//	unknownEncoding
//	            the encoding that attributes ask for, if it is unknown and the
//	            content stays UTF-8
//	lfs         oid and size, if the file is a Git LFS pointer; and if
//	            pointers are to be replaced, whether its object is present
//	url         of a submodule, if .gitmodules has it
type manifestLayout struct {
	urls  map[string]string // of submodules, by member path
	begun bool              // an entry was written; for the writing goroutine only
}

func (p *Plan) writeManifest(ctx context.Context, w io.Writer) error {
	urls, err := p.memberURLs()
	if err != nil {
		return err
	}
	return p.write(ctx, w, &manifestLayout{urls: urls})
}

// memberURLs returns the URLs of submodules by member path. It ignores an oversized .gitmodules,
// which no honest tool writes.
func (p *Plan) memberURLs() (map[string]string, error) {
	known, err := tree.SubmoduleURLs(p.selection.Root)
	if err != nil && !errors.Is(err, tree.ErrLimit) {
		return nil, err
	}
	above := ""
	if p.options.Strip != "" {
		above = p.options.Strip + "/"
	}
	urls := make(map[string]string)
	for path, url := range known {
		if below, ok := strings.CutPrefix(path, above); ok {
			urls[p.options.Prefix+below+"/"] = url
		}
	}
	return urls, nil
}

func (m *manifestLayout) opening(out []byte, p *Plan) ([]byte, error) {
	out = append(out, p.heading().key("entries")...)
	out = append(out, '[')
	if folder := p.folder(); folder != nil {
		out = append(out, m.first(m.line(nil, tree.Entry{Path: folder, Mode: git.ModeDir, ID: p.head.Tree}))...)
	}
	return out, nil
}

// describe appends a line, with the comma of the line before.
func (m *manifestLayout) describe(r *run, buffer []byte, e tree.Entry) ([]byte, error) {
	out := m.line(buffer, e)
	if !e.Mode.IsRegular() && !e.Mode.IsSymlink() {
		return out, nil
	}
	size, err := r.Source.Size(e.ID)
	if err == nil && e.Mode.IsSymlink() && size > tree.MaxLinkBytes {
		err = tree.ErrLink // no other format includes it either
	}
	if err != nil {
		return buffer, err
	}
	d := document(out[:len(out)-len("}")])
	d = strconv.AppendInt(d.key("size"), size, 10)
	if e.Treatment.Changes() {
		d = append(d.key("converted"), "true"...)
	}
	if name := e.Treatment.UnknownEncoding(); name != "" {
		d = d.text("unknownEncoding", name)
	}
	if e.Mode.IsRegular() && size >= int64(lfs.MinBytes) && size < lfs.MaxBytes {
		if d, err = m.pointer(r, d, e); err != nil {
			return buffer, err
		}
	}
	return append(d, '}'), nil
}

// pointer adds the fields of a Git LFS pointer.
func (m *manifestLayout) pointer(r *run, d document, e tree.Entry) (document, error) {
	stored, pointer, ok, err := content.ReadPointer(r.Source, e.ID, r.stored[:0])
	if err != nil || !ok {
		return d, err
	}
	r.stored = stored
	d = append(d.key("lfs"), '{')
	d = strconv.AppendInt(d.plain("oid", pointer.OID).key("size"), pointer.Size, 10)
	if e.Treatment.MayBePointer() {
		object, err := content.OpenObject(r.Source, pointer, r.limits)
		if err != nil {
			return d, err
		}
		d = strconv.AppendBool(d.key("present"), object != nil)
		if object != nil {
			if err := object.Close(); err != nil {
				return d, err
			}
		}
	}
	return append(d, '}'), nil
}

// line appends the fields that need no access to the repository.
func (m *manifestLayout) line(out []byte, e tree.Entry) []byte {
	d := document(append(out, ",\n{"...))
	d = append(escaped(append(d.key("path"), '"'), e.Path), '"')
	if !utf8.Valid(e.Path) {
		d = d.plain("pathBase64", base64.StdEncoding.EncodeToString(e.Path))
	}
	d = d.plain("type", tree.Type(e.Mode))
	d = d.plain("mode", e.Mode.String())
	d = d.plain("id", e.ID.String())
	if url, ok := m.urls[string(e.Path)]; ok && e.Mode.IsGitlink() {
		d = d.text("url", url)
	}
	return append(d, '}')
}

func (m *manifestLayout) beforeWrite(r *run) error {
	m.first(r.out)
	return nil
}

// first replaces the comma before the first entry by a blank.
func (m *manifestLayout) first(entries []byte) []byte {
	if !m.begun && len(entries) > 0 {
		entries[0] = ' '
		m.begun = true
	}
	return entries
}

func (m *manifestLayout) closing(l *pipeline) error {
	_, ignored := l.walk.Counts()
	return l.write(fmt.Appendf(nil, "\n],\"exportIgnored\":%d}\n", ignored))
}
