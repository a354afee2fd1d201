package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Key identifies bytes. It is a digest, so that no user's string becomes the name of a file or an
// object.
type Key [sha256.Size]byte

// KeyOf hashes everything that determines the bytes. Different lists have different keys, wherever
// one part ends and the next begins.
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

// parseKey parses the form of String, and nothing else.
func parseKey(text string) (Key, bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(Key{}) || hex.EncodeToString(raw) != text {
		return Key{}, false
	}
	return Key(raw), true
}
