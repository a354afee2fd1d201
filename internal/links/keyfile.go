package links

import (
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
	// minSecretBytes is the length of the keyed hash; a shorter secret would be weaker than the
	// hash (RFC 2104, section 3).
	minSecretBytes = 32
	// maxSecretBytes is a bound, not a recommendation.
	maxSecretBytes = 1024
	// maxKeys bounds the search of a verification.
	maxKeys = 64
	// minDistinctBytes tells a random secret of 32 bytes from a placeholder: one random secret in
	// 10^30 has fewer.
	minDistinctBytes = 8
	// maxKeyID bounds the length of a key's name.
	maxKeyID = 64
)

// keyCharacters are those of a key's name. The length is checked separately: a count in the
// expression would be compiled into as many states whenever any command starts.
var keyCharacters = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// parseKeys reads a key file. Its errors quote no part of a line: mixed-up columns must not put a
// secret into the log.
func parseKeys(text []byte) (ring, error) {
	var keys ring
	for number, line := range operatorfile.Lines(text) {
		k, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		for _, other := range keys {
			if err := distinct(k, other); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
		}
		if keys = append(keys, k); len(keys) > maxKeys {
			return nil, fmt.Errorf("there are more than %d keys; remove those that no longer sign", maxKeys)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key; add a line with a date, an id and 32 random bytes in base64")
	}
	slices.SortFunc(keys, func(a, b *key) int { return a.from.Compare(b.from) })
	return keys, nil
}

func parseKey(line string) (*key, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return nil, errors.New("write three columns: from when the key signs, its id, and its bytes in base64")
	}
	from, err := time.Parse(time.RFC3339, fields[0])
	if err != nil {
		return nil, errors.New("the first column is no date like 2026-11-01T00:00:00Z")
	}
	if len(fields[1]) > maxKeyID || !keyCharacters.MatchString(fields[1]) {
		return nil, errors.New("the second column is no id: up to 64 letters, digits, dots, dashes and underscores")
	}
	secret, err := decodeSecret(fields[2])
	if err != nil {
		return nil, err
	}
	return newKey(fields[1], from, secret)
}

// decodeSecret accepts base64 as the usual tools write it: either alphabet, with or without
// padding.
func decodeSecret(s string) ([]byte, error) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	secret, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		// The decoder's error has only a position, which is no use here.
		return nil, errors.New("the third column is not base64; make one with: head -c 32 /dev/urandom | base64")
	}
	if len(secret) < minSecretBytes || len(secret) > maxSecretBytes {
		return nil, fmt.Errorf("the key has %d bytes; use at least %d and at most %d, made with: head -c 32 "+
			"/dev/urandom | base64", len(secret), minSecretBytes, maxSecretBytes)
	}
	seen := map[byte]bool{}
	for _, c := range secret {
		seen[c] = true
	}
	if len(seen) < minDistinctBytes {
		return nil, errors.New("the key is not random; make one with: head -c 32 /dev/urandom | base64")
	}
	return secret, nil
}

// distinct refuses two keys if replicas could not tell which one signs, or if a rotation between
// them would change nothing.
func distinct(k, other *key) error {
	switch {
	case k.id == other.id:
		return errors.New("the id is used twice; give each key its own")
	case string(k.secret) == string(other.secret):
		return errors.New("the key is the same as another one; make a new one with: head -c 32 /dev/urandom | base64")
	case k.from.Equal(other.from):
		return errors.New("two keys sign from the same time; make one of them later")
	case k.tag == other.tag:
		return errors.New("the key cannot be told from another one; make a new one with: head -c 32 /dev/urandom | " +
			"base64")
	}
	return nil
}
