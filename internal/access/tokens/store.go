package tokens

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/operatorfile"
)

// maxFileBytes bounds a file: some thousand tokens.
const maxFileBytes = 256 << 10

// Store is the tokens of a file, as they are now. Several goroutines may use it.
type Store struct {
	*operatorfile.File[[]Entry]
	scopes []string
	now    func() time.Time
}

// Open reads a file of tokens, all of which have the scopes. A file with comments alone lets
// nobody in.
func Open(path string, scopes []string, now func() time.Time) (*Store, error) {
	file, err := operatorfile.Open(path, "tokens", maxFileBytes, parse)
	if err != nil {
		return nil, err
	}
	return &Store{file, scopes, now}, nil
}

// Count is how many tokens there are, those that have expired among them.
func (s *Store) Count() int { return len(s.Value()) }

// Authenticate finds who a token was given to. It compares as much for a token that
// nobody has as for any other. It implements [access.Verifier]; errors wrap
// [access.ErrInvalid].
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
