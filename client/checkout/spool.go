package checkout

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/unpack"
)

// spooled are the files of an archive in a file of the state: a tar, which is removed when it is closed.
type spooled struct{ *os.File }

func (s spooled) Close() error { return errors.Join(s.File.Close(), os.Remove(s.Name())) }

// spool takes the archive of a checkout without writing any of its files to the folder: it packs their contents,
// and keeps them. The manifest of a difference is left out.
func (r *run) spool(ctx context.Context, in io.Reader, to *dotgit.Incoming) (_ spooled, err error) {
	empty := r.path(previewName)
	if err := errors.Join(os.RemoveAll(empty), os.Mkdir(empty, 0o700)); err != nil {
		return spooled{}, err
	}
	root, err := os.OpenRoot(empty)
	if err != nil {
		return spooled{}, err
	}
	file, err := os.Create(r.path(spoolName))
	if err != nil {
		return spooled{}, errors.Join(err, root.Close())
	}
	out := bufio.NewWriterSize(file, 64<<10)
	s := &spooler{run: r, to: to, out: tar.NewWriter(out)}
	report, err := unpack.New(root, unpack.Options{Choose: s.choose, Comment: s.comment, Git: to.Member}).Tar(ctx, in)
	err = errors.Join(err, s.out.Close(), out.Flush(), root.Close(), os.RemoveAll(empty))
	if err == nil {
		to.Commit, err = commitOf(report.Comment)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return spooled{}, errors.Join(err, spooled{file}.Close())
	}
	return spooled{file}, nil
}

// spooler writes the members of an archive into a tar.
type spooler struct {
	run *run
	to  *dotgit.Incoming
	out *tar.Writer
}

func (s *spooler) comment(text string) error {
	if err := s.run.compareCommit(text); err != nil {
		return err
	}
	s.run.head = text
	return s.out.WriteHeader(&tar.Header{
		Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": text},
	})
}

func (s *spooler) choose(m unpack.Member, content io.Reader) (unpack.Choice, error) {
	if m.Path == manifestPath {
		s.run.fromBase = true
		_, err := io.Copy(io.Discard, content)
		return skip, err
	}
	if err := s.to.Choose(m); err != nil {
		return skip, err
	}
	header := &tar.Header{Name: m.Path, Mode: 0o644, Size: m.Size, Linkname: m.Target}
	if m.Executable {
		header.Mode = 0o755
	}
	switch m.Kind {
	case unpack.Folder:
		header.Typeflag, header.Name = tar.TypeDir, m.Path+"/"
	case unpack.Symlink:
		header.Typeflag = tar.TypeSymlink
	}
	if m.Kind != unpack.File {
		return skip, s.out.WriteHeader(header)
	}
	if m.Patch != nil {
		var err error
		if content, err = s.run.patched(m, content); err != nil {
			return skip, err
		}
		header.Size = m.Patch.Size
	}
	return skip, errors.Join(s.file(header, content), closed(content))
}

// file packs and keeps a file.
func (s *spooler) file(header *tar.Header, content io.Reader) error {
	if err := s.out.WriteHeader(header); err != nil {
		return err
	}
	sum, packed := unpack.NewHash(header.Size), s.to.Copy(header.Size)
	n, err := io.Copy(io.MultiWriter(s.out, sum, packed), io.LimitReader(content, header.Size))
	if err == nil && n != header.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return errors.Join(err, packed.End(unpack.ID{}))
	}
	id := unpack.ID(sum.Sum(nil))
	s.to.Done(unpack.Written{Path: header.Name, ID: id})
	return packed.End(id)
}
