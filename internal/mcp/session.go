package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// sessionLife is how long a session id is accepted. A client whose id is refused initialises again.
const sessionLife = 24 * time.Hour

// Claims is the content of a session id. A server keeps no indispensable session state: every
// server with the same key can read the id.
type Claims struct {
	// Version of the protocol that initialize agreed on.
	Version string `json:"v"`
	// Stream is the client's resourceStreaming capability.
	Stream TransferCapability `json:"s"`
	// Binary is the client's binaryTransfer capability.
	Binary TransferCapability `json:"x,omitzero"`
	// Nonce makes ids unique and impossible to guess.
	Nonce string `json:"n"`
	// Issued is the time of issue, in seconds since 1970.
	Issued int64 `json:"t"`
}

// Sessions signs session ids and checks them.
type Sessions struct {
	key []byte
	now func() time.Time
}

// NewSessions uses a secret key; servers that share it accept each other's sessions. Without a key
// it makes a random one, and sessions end with the process.
func NewSessions(key []byte) *Sessions {
	if len(key) == 0 {
		key = []byte(rand.Text() + rand.Text())
	}
	return &Sessions{key: key, now: time.Now}
}

// sessionKeyPurpose separates these signatures from others with the same key.
const sessionKeyPurpose = "repomcp session id v1\x00"

// sign signs for a principal, by its id. The signature covers the principal without revealing it,
// so a session id says nothing about its owner. A payload has no NUL.
func (s *Sessions) sign(payload, principal string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(sessionKeyPurpose + payload))
	if principal != "" {
		mac.Write([]byte("\x00" + principal))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Mint signs a new id, which is valid only for a principal; "" is every client of a server without
// authentication. The id is visible ASCII, as the specification demands.
func (s *Sessions) Mint(claims Claims, principal string) (string, error) {
	claims.Nonce, claims.Issued = rand.Text(), s.now().Unix()
	content, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	payload := base64.RawURLEncoding.EncodeToString(content)
	return payload + "." + s.sign(payload, principal), nil
}

// errSession refuses a session id that is forged, altered, expired or of another principal.
var errSession = errors.New("session id is not valid")

// Parse checks an id that a principal sent, and returns its claims.
func (s *Sessions) Parse(id, principal string) (Claims, error) {
	payload, signature, ok := strings.Cut(id, ".")
	// The encoded strings are compared, since decoding ignores line ends, and a session has only
	// one id.
	if !ok || !hmac.Equal([]byte(signature), []byte(s.sign(payload, principal))) {
		return Claims{}, errSession
	}
	var claims Claims
	content, err := base64.RawURLEncoding.Strict().DecodeString(payload)
	if err != nil || json.Unmarshal(content, &claims) != nil {
		return Claims{}, errSession
	}
	if age := s.now().Sub(time.Unix(claims.Issued, 0)); age > sessionLife || age < -time.Hour {
		return Claims{}, errSession
	}
	return claims, nil
}
