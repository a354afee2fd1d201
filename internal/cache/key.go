package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Key names bytes. It is a digest, so that no text of a user can become the
// name of a file or an object.
type Key [sha256.Size]byte

// KeyOf hashes everything that the bytes are a function of. Different lists
// have different keys, wherever one part ends and the next begins.
func KeyOf(parts ...string) Key {
	h := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return Key(h.Sum(nil))
}

// String returns the key in hex.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// parseKey reads what String wrote, and nothing else.
func parseKey(text string) (Key, bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(Key{}) || hex.EncodeToString(raw) != text {
		return Key{}, false
	}
	return Key(raw), true
}
