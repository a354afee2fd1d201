package resources

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/git"
)

const (
	// checksumSuffix makes the name of an archive that of its checksum.
	checksumSuffix = ".sha256"
	// checksumBytes is the length of a line without the name: the digits of the SHA-256,
	// two blanks and the end of the line.
	checksumBytes = 2*sha256.Size + 2 + 1
)

// openChecksum finds the checksum of an archive: a line as sha256sum(1) writes it, with
// the name that the archive is saved under. The archive is made for it once, unless its
// digest is known; nothing is made before [Content.Count].
func (s *Service) openChecksum(ctx context.Context, snapshot *git.Snapshot, r Resource) (*Content, error) {
	ofArchive := r
	ofArchive.Kind = Archive
	archive, err := s.openArchive(ctx, snapshot, ofArchive)
	if err != nil {
		return nil, err
	}
	byCommit := r
	byCommit.Revision, byCommit.Options = archive.Revision, archive.plan.Options()
	name := archive.FileName
	// The name is a part of the content.
	tag := sha256.Sum256([]byte(archive.ETag + "\x00" + name))
	return &Content{
		URI: byCommit.String(), MIMEType: mimeText, FileName: name + checksumSuffix,
		Size: checksumBytes + int64(len(name)), ETag: etagOf(tag[:]), Weak: archive.Weak, Streamable: true,
		Commit: archive.Commit, Revision: archive.Revision, Modified: archive.Modified, Repository: archive.Repository,
		Frozen: byCommit.String(), FrozenName: archive.FrozenName + checksumSuffix, Immutable: archive.Immutable,
		Meta: archive.Meta, held: []io.Closer{archive}, prepare: archive.Hash,
		write: func(ctx context.Context, w io.Writer) error {
			if err := archive.Hash(ctx); err != nil {
				return err
			}
			_, err := fmt.Fprintf(w, "%x  %s\n", archive.Digest, name)
			return err
		},
	}, nil
}

// Hash makes Digest known of what has one, with all that has to be made and reserved for
// that, and Size where [Content.Count] does. The error may be a [*limits.Refusal].
func (c *Content) Hash(ctx context.Context) error {
	if c.Digest != nil || !c.Digests() {
		return nil
	}
	if err := c.Reserve(ctx, true); err != nil {
		return err
	}
	return c.Count(ctx)
}
