package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/base/operatorfile"
)

const (
	// Prefix is the prefix of every token, so that people and scanners recognize tokens.
	Prefix = "rmcp_"
	// hashPrefix names the hash.
	hashPrefix = "sha256:"
	// maxTokens bounds the comparisons per request, which take at most 0.1 ms.
	maxTokens = 2000
	// maxNameBytes bounds the name of a token or group.
	maxNameBytes = 64

	optionExpires = "expires="
	optionGroups  = "groups="
)

// nameCharacters matches names. Their length is checked separately: in the expression each
// character would be a state, which every command would compile at its start.
var nameCharacters = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]*$`)

// Entry describes a token.
type Entry struct {
	Name    string
	Groups  []string
	Created time.Time
	Expires time.Time // zero: never

	hash [sha256.Size]byte
}

// Expired reports whether the token has expired.
func (e Entry) Expired(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// New creates a token that expires after lifetime, or never if that is 0. Only the caller has the
// token afterwards.
func New(name string, groups []string, lifetime time.Duration, now time.Time) (token string, e Entry, err error) {
	token = Prefix + rand.Text()
	e = Entry{
		Name: name, Groups: slices.Compact(slices.Sorted(slices.Values(groups))),
		Created: now.UTC().Truncate(time.Second),
		hash:    sha256.Sum256([]byte(token)),
	}
	if lifetime < 0 {
		return "", Entry{}, errors.New("a token cannot expire before it is made")
	}
	if lifetime > 0 {
		e.Expires = e.Created.Add(lifetime)
	}
	return token, e, e.check()
}

// check refuses names that the file cannot represent.
func (e Entry) check() error {
	for _, name := range append([]string{e.Name}, e.Groups...) {
		if len(name) > maxNameBytes || !nameCharacters.MatchString(name) {
			return fmt.Errorf("a name of a token or a group has up to %d letters, digits, dots, dashes, underscores, "+
				"@ and +, and begins with a letter or a digit", maxNameBytes)
		}
	}
	return nil
}

// line returns the entry as a line of the file.
func (e Entry) line() string {
	line := e.Name + "  " + hashPrefix + base64.RawURLEncoding.EncodeToString(e.hash[:]) + "  " +
		e.Created.Format(time.RFC3339)
	if !e.Expires.IsZero() {
		line += "  " + optionExpires + e.Expires.Format(time.RFC3339)
	}
	if len(e.Groups) > 0 {
		line += "  " + optionGroups + strings.Join(e.Groups, ",")
	}
	return line
}

// parse parses the file. Its errors quote nothing of a line: mixed up columns must not put a secret
// into the log.
func parse(text []byte) ([]Entry, error) {
	var list []Entry
	for number, line := range operatorfile.Lines(text) {
		e, err := parseLine(line)
		if err == nil {
			err = distinct(e, list)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if list = append(list, e); len(list) > maxTokens {
			return nil, fmt.Errorf("there are more than %d tokens; revoke unused ones", maxTokens)
		}
	}
	return list, nil
}

func parseLine(line string) (Entry, error) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return Entry{}, errors.New("write a name, the hash and the date; repomcp token new makes such lines")
	}
	e := Entry{Name: fields[0]}
	encoded, ok := strings.CutPrefix(fields[1], hashPrefix)
	hash, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(hash) != len(e.hash) {
		return Entry{}, errors.New("the second column is no hash; repomcp token new makes one")
	}
	copy(e.hash[:], hash)
	if e.Created, err = time.Parse(time.RFC3339, fields[2]); err != nil {
		return Entry{}, errors.New("the third column is no date like 2026-11-01T00:00:00Z")
	}
	for _, field := range fields[3:] {
		if err := e.option(field); err != nil {
			return Entry{}, err
		}
	}
	return e, e.check()
}

func (e *Entry) option(field string) (err error) {
	if text, ok := strings.CutPrefix(field, optionExpires); ok && e.Expires.IsZero() {
		if e.Expires, err = time.Parse(time.RFC3339, text); err != nil {
			return errors.New("expires= is followed by no date like 2026-11-01T00:00:00Z")
		}
		return nil
	}
	if text, ok := strings.CutPrefix(field, optionGroups); ok && e.Groups == nil {
		e.Groups = strings.Split(text, ",")
		return nil
	}
	return errors.New("behind the date may be one expires= and one groups=, and nothing else")
}

// distinct refuses duplicate names and tokens.
func distinct(e Entry, others []Entry) error {
	for _, other := range others {
		if e.Name == other.Name {
			return errors.New("the name is used twice; give each token its own")
		}
		if e.hash == other.hash {
			return errors.New("the token is the same as another one; make a new one with repomcp token new")
		}
	}
	return nil
}
