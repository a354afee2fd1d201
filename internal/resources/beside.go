package resources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/git"
)

const (
	// checksumSuffix after the name of an archive is the name of its checksum.
	checksumSuffix = ".sha256"
	// checksumBytes is the length of a line without the name: the digits of the SHA-256, two blanks
	// and the end of the line.
	checksumBytes = 2*sha256.Size + 2 + 1
)

// findChecksum finds the checksum of an archive: a line as sha256sum(1) writes it, with the file
// name of the archive.
func (s *Service) findChecksum(ctx context.Context, snapshot *git.Snapshot, r Resource) (*Found, error) {
	ofArchive := r
	ofArchive.Kind = Archive
	archive, err := s.findArchive(ctx, snapshot, ofArchive)
	if err != nil {
		return nil, err
	}
	byCommit := r
	byCommit.Revision, byCommit.Options = archive.Revision, archive.plan().Options()
	name := archive.FileName
	// The name is a part of the content.
	tag := sha256.Sum256([]byte(archive.ETag + "\x00" + name))
	return &Found{
		URI: byCommit.String(), MIMEType: mimeText, FileName: name + checksumSuffix,
		Size: checksumBytes + int64(len(name)), ETag: etagOf(tag[:]), Weak: archive.Weak, Streamable: true,
		Described: true, Commit: archive.Commit, Revision: archive.Revision, Modified: archive.Modified,
		Repository: archive.Repository, Frozen: byCommit.String(), FrozenName: archive.FrozenName + checksumSuffix,
		Immutable: archive.Immutable, Meta: archive.Meta, held: []io.Closer{archive}, source: &checksum{of: archive},
	}, nil
}

// checksum is a list of one line. The archive is generated for it once, unless its digest is known.
// A look generates nothing.
type checksum struct {
	list
	of *Found
}

func (c *checksum) reserve(ctx context.Context, b *Body) error {
	if b.want.Method != Get {
		return nil
	}
	archive, err := c.of.Open(ctx, Want{Digest: true})
	if err != nil {
		return err
	}
	b.source = textSource(fmt.Appendf(nil, "%x  %s\n", archive.Digest, c.of.FileName))
	return archive.Close()
}

// signatureNotes are the notes with detached signatures of archives, one ref for each format, on
// the tag or the commit that was signed. cgit looks for them in the same place.
const signatureNotes = "refs/notes/signatures/"

// signatureSuffix after the name of an archive is the name of its detached signature.
const signatureSuffix = ".asc"

// findSignature finds the detached signature of an archive. The server does not verify it.
func findSignature(ctx context.Context, s *git.Snapshot, r Resource) (*Found, error) {
	commit, err := s.Resolve(ctx, r.Revision)
	if err != nil {
		return nil, err
	}
	signature, err := noteOf(s, signatureNotes+string(r.Options.Format), targets(s, r.Revision, commit.ID))
	if err != nil {
		return nil, err
	}
	id := commit.ID.String()
	byCommit := r
	byCommit.Revision = id
	found := Found{
		URI: r.String(), MIMEType: mimeSignature, FileName: archiveName(r, id) + signatureSuffix, Streamable: true,
		Commit: id, Revision: id, Repository: r.Repository, Frozen: byCommit.String(),
		FrozenName: archiveName(byCommit, id) + signatureSuffix, Meta: map[string]any{metaCommit: id},
	}
	return found.describedBy(int64(len(signature)), textSource(signature)), nil
}

// targets are the objects that may have a signature's note: the tag object of the revision, and the
// commit.
func targets(s *git.Snapshot, revision string, commit git.ID) []git.ID {
	for _, prefix := range []string{"", "refs/tags/"} {
		if ref, err := s.Ref(prefix + revision); err == nil && ref.Target != commit {
			return []git.ID{ref.Target, commit}
		}
	}
	return []git.ID{commit}
}

func noteOf(s *git.Snapshot, notes string, ids []git.ID) (note []byte, err error) {
	for _, id := range ids {
		if note, err = s.Note(notes, id); !errors.Is(err, git.ErrNotFound) {
			return note, err
		}
	}
	return nil, err
}
