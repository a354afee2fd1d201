package resources

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// sessionLife is how long a session id is accepted. A client whose id is
// refused initialises again.
const sessionLife = 24 * time.Hour

// Claims is what a session id says. A server keeps nothing about a session
// that it could not do without: any server with the same key reads the id.
type Claims struct {
	// Version of the protocol that initialize agreed on.
	Version string `json:"v"`
	// Stream is the client's resourceStreaming capability.
	Stream StreamCapability `json:"s"`
	// Nonce tells sessions apart and makes ids impossible to guess.
	Nonce string `json:"n"`
	// Issued is when, in seconds since 1970.
	Issued int64 `json:"t"`
}

// Sessions signs session ids and checks them.
type Sessions struct {
	key []byte
	now func() time.Time
}

// NewSessions uses a secret key; servers that share it accept each other's
// sessions. Without one a random key is made, and sessions end with the
// process.
func NewSessions(key []byte) *Sessions {
	if len(key) == 0 {
		key = []byte(rand.Text() + rand.Text())
	}
	return &Sessions{key: key, now: time.Now}
}

// sessionKeyPurpose separates these signatures from others with the same key.
const sessionKeyPurpose = "repomcp session id v1\x00"

func (s *Sessions) sign(payload string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(sessionKeyPurpose + payload))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Mint signs a new id. It is visible ASCII, as the specification asks.
func (s *Sessions) Mint(claims Claims) (string, error) {
	claims.Nonce, claims.Issued = rand.Text(), s.now().Unix()
	content, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	payload := base64.RawURLEncoding.EncodeToString(content)
	return payload + "." + s.sign(payload), nil
}

// errSession refuses a session id: forged, altered or expired.
var errSession = errors.New("session id is not valid")

// Parse checks an id and returns what it says.
func (s *Sessions) Parse(id string) (Claims, error) {
	payload, signature, ok := strings.Cut(id, ".")
	// The texts are compared: decoding passes over line ends, and a session
	// has one id.
	if !ok || !hmac.Equal([]byte(signature), []byte(s.sign(payload))) {
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

// StreamCapability is the client capability resourceStreaming of SEP-2532.
type StreamCapability struct {
	Declared bool `json:"d,omitempty"`
	// MaxSize is the largest stream in bytes that the client accepts; 0 means
	// any.
	MaxSize int64 `json:"m,omitempty"`
	// BadSize says that maxStreamSize is there and is no size. Streams are then
	// refused: a limit that cannot be read must not be taken for none.
	BadSize bool `json:"b,omitempty"`
}

// parseStreamCapability reads the capability from raw client capabilities:
// mcp-go's type for them drops it. Typed clients can only send it among
// experimental capabilities or extensions, so it is looked for there as well.
func parseStreamCapability(capabilities json.RawMessage) StreamCapability {
	declared := object(capabilities)
	for _, raw := range []json.RawMessage{
		declared["resourceStreaming"], object(declared["experimental"])["resourceStreaming"], object(declared["extensions"])[ExtensionStream],
	} {
		settings := object(raw)
		if settings == nil {
			continue
		}
		var size *float64
		capability := StreamCapability{Declared: true}
		if raw, ok := settings["maxStreamSize"]; ok {
			capability.BadSize = json.Unmarshal(raw, &size) != nil || size != nil && *size < 1
		}
		if size != nil && !capability.BadSize && *size < 1<<62 {
			capability.MaxSize = int64(*size)
		}
		return capability
	}
	return StreamCapability{}
}

// object reads the members of a JSON object, with their names compared
// exactly; nil for anything else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// initializeClaims reads what a session id keeps of an initialize request.
func initializeClaims(params json.RawMessage) Claims {
	var raw map[string]json.RawMessage
	var version string
	if json.Unmarshal(params, &raw) != nil {
		return Claims{}
	}
	_ = json.Unmarshal(raw["protocolVersion"], &version) // another type is no version
	return Claims{Version: mcp.NegotiateLegacyVersion(version), Stream: parseStreamCapability(raw["capabilities"])}
}
