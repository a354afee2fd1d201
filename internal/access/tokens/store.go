package tokens

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/operatorfile"
)

// maxFileBytes bounds a file: some thousand tokens.
const maxFileBytes = 256 << 10

// Store holds the current tokens of a file. It is safe for concurrent use.
type Store struct {
	*operatorfile.File[[]Entry]
	scopes []string
	now    func() time.Time
}

// Open reads a file of tokens, all of which have the scopes. A file with only comments admits no
// client.
func Open(path string, scopes []string, now func() time.Time) (*Store, error) {
	file, err := operatorfile.Open(path, "tokens", maxFileBytes, parse)
	if err != nil {
		return nil, err
	}
	return &Store{file, scopes, now}, nil
}

// Count returns the number of tokens, including expired ones.
func (s *Store) Count() int { return len(s.Value()) }

// Authenticate implements [access.Verifier]. It takes the same time for unknown tokens as for known
// ones. Errors wrap [access.ErrInvalid].
func (s *Store) Authenticate(_ context.Context, token string) (access.Principal, error) {
	hash := sha256.Sum256([]byte(token))
	var found Entry
	for _, e := range s.Value() {
		if subtle.ConstantTimeCompare(hash[:], e.hash[:]) == 1 {
			found = e
		}
	}
	switch {
	case found.Name == "":
		return access.Principal{}, fmt.Errorf("%w: no such token", access.ErrInvalid)
	case found.Expired(s.now()):
		return access.Principal{}, fmt.Errorf("%w: the token %s has expired", access.ErrInvalid, found.Name)
	default:
		return access.Principal{ID: "token:" + found.Name, Groups: found.Groups, Scopes: s.scopes}, nil
	}
}
