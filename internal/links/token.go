package links

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

const (
	// tokenVersion changes with every change of the format in this file or in claims.go.
	tokenVersion = 4

	headerBytes = 1 + len(keyTag{}) + len(Nonce{})
	sealBytes   = 16 // AES-GCM's tag
	macBytes    = sha256.Size

	minRawBytes = headerBytes + paddingBytes + sealBytes + macBytes
	maxRawBytes = headerBytes + maxClaimsBytes + sealBytes + macBytes
)

// MaxTokenBytes is the length of the longest token. Common proxies accept 8 KiB of request line.
const MaxTokenBytes = (maxRawBytes*8 + 5) / 6

// encoding refuses trailing bits. It skips line ends, so open refuses those.
var encoding = base64.RawURLEncoding.Strict()

// seal makes the token of a link.
func (k *key) seal(l Link) (string, error) {
	claims, err := l.encode()
	if err != nil {
		return "", err
	}
	header := append([]byte{tokenVersion}, k.tag[:]...)
	header = append(header, l.Nonce[:]...)
	aead, nonce, err := k.cipher(l.Nonce)
	if err != nil {
		return "", err
	}
	raw := aead.Seal(header, nonce, claims, header)
	return encoding.EncodeToString(append(raw, k.sign(raw)...)), nil
}

// open is the inverse of seal. find returns the key with a tag.
func open(token string, find func(keyTag) *key) (Link, error) {
	if len(token) > MaxTokenBytes {
		return Link{}, ErrTooLong
	}
	raw, err := encoding.DecodeString(token)
	if err != nil || len(raw) < minRawBytes || encoding.EncodedLen(len(raw)) != len(token) {
		return Link{}, fmt.Errorf("%w: it is no token", ErrForged)
	}
	if raw[0] != tokenVersion {
		return Link{}, fmt.Errorf("%w: unknown version", ErrForged)
	}
	tag, nonce := keyTag(raw[1:1+len(keyTag{})]), Nonce(raw[1+len(keyTag{}):headerBytes])
	k := find(tag)
	if k == nil {
		return Link{}, fmt.Errorf("%w: its key is not in the ring", ErrForged)
	}
	signed, mac := raw[:len(raw)-macBytes], raw[len(raw)-macBytes:]
	if !hmac.Equal(mac, k.sign(signed)) {
		return Link{}, fmt.Errorf("%w: wrong signature", ErrForged)
	}
	aead, iv, err := k.cipher(nonce)
	if err != nil {
		return Link{}, err
	}
	claims, err := aead.Open(nil, iv, signed[headerBytes:], signed[:headerBytes])
	if err != nil {
		return Link{}, fmt.Errorf("%w: wrong seal", ErrForged)
	}
	l, err := decodeClaims(claims)
	if err != nil {
		return Link{}, fmt.Errorf("%w: %w", ErrForged, err)
	}
	l.Nonce = nonce
	l.secret, err = k.redemption(nonce)
	return l, err
}

func (k *key) sign(data []byte) []byte {
	mac := hmac.New(sha256.New, k.mac)
	mac.Write(data)
	return mac.Sum(nil)
}

// redemption derives the secret in the first reply to a single-use link.
func (k *key) redemption(nonce Nonce) (secret [secretBytes]byte, err error) {
	derived, err := hkdf.Key(sha256.New, k.secret, nonce[:], "repomcp link 2: redemption", secretBytes)
	copy(secret[:], derived)
	return secret, err
}

// cipher derives the key and the initialisation vector of one token.
func (k *key) cipher(nonce Nonce) (cipher.AEAD, []byte, error) {
	const keyBytes, ivBytes = 32, 12
	derived, err := hkdf.Key(sha256.New, k.secret, nonce[:], "repomcp link 2: seal", keyBytes+ivBytes)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(derived[:keyBytes])
	if err != nil {
		return nil, nil, err
	}
	aead, err := cipher.NewGCM(block)
	return aead, derived[keyBytes:], err
}
