package links

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/base/operatorfile"
)

// maxFileBytes bounds a key file: a thousand lines.
const maxFileBytes = 256 << 10

// keyTag names a key in a token.
type keyTag [8]byte

// key is one key of a ring.
type key struct {
	id     string
	from   time.Time // it signs from this date on
	secret []byte
	mac    []byte
	tag    keyTag
}

func newKey(id string, from time.Time, secret []byte) (*key, error) {
	k := &key{id: id, from: from, secret: secret}
	var err error
	if k.mac, err = hkdf.Key(sha256.New, secret, nil, "repomcp link 1: sign", sha256.Size); err != nil {
		return nil, err
	}
	tag, err := hkdf.Key(sha256.New, secret, nil, "repomcp link 1: tag of "+id, len(k.tag))
	if err != nil {
		return nil, err
	}
	copy(k.tag[:], tag)
	return k, nil
}

// ring is an immutable set of keys, by the date they sign from.
type ring []*key

func (r ring) find(tag keyTag) *key {
	if i := slices.IndexFunc(r, func(k *key) bool { return k.tag == tag }); i >= 0 {
		return r[i]
	}
	return nil
}

// signer returns the newest key whose date has come.
func (r ring) signer(now time.Time) *key {
	for _, k := range slices.Backward(r) {
		if !k.from.After(now) {
			return k
		}
	}
	return nil
}

// Keyring holds the keys that sign links. Several goroutines may use it.
//
// A key file has one key per line; empty lines and those that begin with # are skipped:
//
//	# from when it signs    id      at least 32 random bytes in base64
//	2026-11-01T00:00:00Z    k2611   q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=
//
// The newest key whose date has come signs; all verify, including those whose date is still to
// come. To rotate, add a key that signs from a time by which every replica will have read the file,
// and remove the old one [MaxLifetime] after that. Removing it earlier invalidates its links at
// once. A line is made by
//
//	echo "$(date -u +%FT%TZ) k$(date +%y%m%d) $(head -c 32 /dev/urandom | base64)"
type Keyring struct{ *operatorfile.File[ring] }

// RandomKeyring has one new key: its links end with the process.
func RandomKeyring() (*Keyring, error) {
	secret := make([]byte, minSecretBytes)
	_, _ = rand.Read(secret) // it does not fail (crypto/rand)
	k, err := newKey("random", time.Time{}, secret)
	if err != nil {
		return nil, err
	}
	return &Keyring{operatorfile.Fixed(ring{k})}, nil
}

// LoadKeyring reads a key file.
func LoadKeyring(path string) (*Keyring, error) {
	file, err := operatorfile.Open(path, "link keys", maxFileBytes, parseKeys)
	if err != nil {
		return nil, err
	}
	return &Keyring{file}, nil
}

// KeyInfo is the public part of a key.
type KeyInfo struct {
	ID   string
	From time.Time // it signs from this date on
}

// Keys lists the keys by the dates from which they sign, without their secrets.
func (kr *Keyring) Keys() []KeyInfo {
	var list []KeyInfo
	for _, k := range kr.Value() {
		list = append(list, KeyInfo{k.id, k.from})
	}
	return list
}
