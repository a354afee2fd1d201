package resources

import (
	"context"
	"crypto/sha256"
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
