package resources

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/git"
)

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
