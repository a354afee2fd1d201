package mcp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	sessionVersion = "2025-11-25"
	modernVersion  = "2026-07-28"
)

// admission is what Admit makes of a message.
type admission struct {
	era     Era
	version string
	session SessionState
	reason  resources.Reason
}

func TestAdmissionIsDecidedByVersionHeadersAndSession(t *testing.T) {
	t.Parallel()
	sessions := NewSessions([]byte("key"))
	id, err := sessions.Mint(Claims{Version: sessionVersion}, "")
	if err != nil {
		t.Fatal(err)
	}
	const (
		uri      = `"uri":"repo://a"`
		metaGood = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	)
	modern := map[string]string{HeaderVersion: modernVersion, HeaderMethod: MethodRead, HeaderName: "repo://a"}
	with := func(base map[string]string, pairs ...string) map[string]string {
		made := make(map[string]string)
		for key, value := range base {
			made[key] = value
		}
		for pair := range slices.Chunk(pairs, 2) {
			made[pair[0]] = pair[1]
		}
		return made
	}
	meta := func(version, capabilities string) string {
		return `{` + uri + `,"_meta":{"io.modelcontextprotocol/protocolVersion":` + version +
			`,"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}}`
	}
	good := `{` + uri + `,` + metaGood + `}`
	session := map[string]string{HeaderSession: id}
	ok := admission{era: ModernEra, version: modernVersion}
	refused := func(reason resources.Reason) admission {
		return admission{era: ModernEra, version: modernVersion, reason: reason}
	}
	tests := []struct {
		name    string
		params  string
		headers map[string]string
		want    admission
	}{
		{"session", `{` + uri + `}`, session, admission{version: sessionVersion}},
		{"session and header", `{` + uri + `}`, with(session, HeaderVersion, "2025-06-18"),
			admission{version: "2025-06-18"}},
		{"no session", `{` + uri + `}`, nil, admission{session: SessionMissing}},
		{"no session, unknown version", `{` + uri + `}`, map[string]string{HeaderVersion: "1"},
			admission{era: ModernEra, version: "1", reason: ReasonVersion}},
		{"unknown session", `{` + uri + `}`, map[string]string{HeaderSession: "x"}, admission{session: SessionUnknown}},
		{"unknown session and bad params", `{}`, map[string]string{HeaderSession: "x"},
			admission{session: SessionUnknown}},
		{"unknown version", `{` + uri + `}`, with(session, HeaderVersion, "1"),
			admission{era: ModernEra, version: "1", reason: ReasonVersion}},
		{"old version in the body", `{` + uri + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`,
			session, admission{version: sessionVersion}},
		{"version that is no string in the body", `{` + uri +
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":20260728}}`, with(session, HeaderVersion, sessionVersion),
			admission{era: ModernEra, version: sessionVersion, reason: ReasonParams}},
		{"no uri", `{}`, session, admission{version: sessionVersion, reason: ReasonParams}},
		{"meta is null", `{` + uri + `,"_meta":null}`, session,
			admission{version: sessionVersion, reason: ReasonParams}},
		{"meta in another case", `{` + uri + `,"_META":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
			session, admission{version: sessionVersion, reason: ReasonParams}},
		{"uri in another case as well", `{` + uri + `,"Uri":"repo://b"}`, session,
			admission{version: sessionVersion, reason: ReasonParams}},
		{"uri too long", `{"uri":"repo://` + strings.Repeat("a", resources.MaxURIBytes) + `"}`, session,
			admission{version: sessionVersion, reason: resources.ReasonURI}},

		{"modern", good, modern, ok},
		{"modern with a session that it has no use for", good, with(modern, HeaderSession, "x"), ok},
		{"modern body, no header", good, session, refused(ReasonHeader)},
		{"modern header, no meta", `{` + uri + `}`, modern, refused(ReasonParams)},
		{"modern header, meta is a list", `{` + uri + `,"_meta":[]}`, modern, refused(ReasonParams)},
		{"modern header, session era body", meta(`"2025-11-25"`, `{}`), modern,
			admission{era: ModernEra, version: sessionVersion, reason: ReasonHeader}},
		{"session era header, modern body", good, with(modern, HeaderVersion, sessionVersion), refused(ReasonHeader)},
		{"version to come", meta(`"2099-01-01"`, `{}`), with(modern, HeaderVersion, "2099-01-01"),
			admission{era: ModernEra, version: "2099-01-01", reason: ReasonVersion}},
		{"event id", good, with(modern, HeaderEventID, "1"), ok},
		{"capabilities are null", meta(`"2026-07-28"`, `null`), modern, refused(ReasonParams)},
		{"capabilities are a list", meta(`"2026-07-28"`, `[]`), modern, refused(ReasonParams)},
		{"no method header", good, with(modern, HeaderMethod, ""), refused(ReasonHeader)},
		{"other method header", good, with(modern, HeaderMethod, "tools/call"), refused(ReasonHeader)},
		{"other name header", good, with(modern, HeaderName, "repo://b"), refused(ReasonHeader)},
		{"encoded name header", good,
			with(modern, HeaderName, "=?base64?"+base64.StdEncoding.EncodeToString([]byte("repo://a"))+"?="), ok},
		{"encoded other name header", good,
			with(modern, HeaderName, "=?base64?"+base64.StdEncoding.EncodeToString([]byte("repo://b"))+"?="),
			refused(ReasonHeader)},
		{"name encoded twice", good,
			with(modern, HeaderName, "=?base64?"+base64.StdEncoding.EncodeToString([]byte("=?base64?cmVwbzovL2E=?="))+
				"?="), refused(ReasonHeader)},
		{"broken name header", good, with(modern, HeaderName, "=?base64?!?="), refused(ReasonHeader)},
	}
	server := &Server{options: Options{Sessions: sessions}}
	for _, test := range tests {
		for _, method := range []string{MethodRead, MethodStream} {
			headers := with(test.headers)
			if headers[HeaderMethod] == MethodRead {
				headers[HeaderMethod] = method
			}
			header := make(http.Header)
			for key, value := range headers {
				header.Set(key, value)
			}
			message := Message{ID: json.RawMessage("1"), Method: method,
				Params: readParams(json.RawMessage(test.params))}
			request, state, failure := server.Admit(t.Context(), message, header.Get)
			got := admission{era: request.Era, version: request.Version, session: state}
			if failure != nil {
				got.reason = failure.Reason
			}
			if got != test.want {
				t.Errorf("%s %s: %+v, want %+v", method, test.name, got, test.want)
			}
		}
	}
	t.Logf("%d cases", 2*len(tests))
}

// A version that the server does not know, older or newer than those that it does, is answered with those,
// whatever the method and the transport. initialize, which negotiates, is answered with the latest instead.
func TestUnknownVersionsAreToldTheKnownOnes(t *testing.T) {
	t.Parallel()
	server := serverOf(t, t.TempDir(), resources.Linking{})
	names := append(slices.Collect(maps.Keys(methods)), MethodStream, MethodListen, "no/such")
	cases := 0
	for _, version := range []string{
		"2026-07-27", "2026-06-18", "2025-11-26", "2024-11-04", "1", "2026-07-29", "draft", "DRAFT-2026-v1", "x", " ",
	} {
		params := readParams(json.RawMessage(`{"uri":"repo://a","_meta":{"io.modelcontextprotocol/protocolVersion":"` +
			version + `","io.modelcontextprotocol/clientCapabilities":{}}}`))
		for _, name := range names {
			if name == MethodInitialize && version < modernVersion {
				continue
			}
			message := Message{ID: json.RawMessage("1"), Method: name, Params: params}
			header := http.Header{}
			for key, value := range map[string]string{
				HeaderVersion: version, HeaderMethod: name, HeaderName: "repo://a",
			} {
				header.Set(key, value)
			}
			overHTTP, _, failure := server.Admit(t.Context(), message, header.Get)
			onConnection, failed := server.Connect("", "").Admit(message)
			for _, got := range []struct {
				r       *Request
				failure *Error
			}{{overHTTP, failure}, {onConnection, failed}} {
				cases++
				if got.failure == nil || Code(got.failure, got.r.Era) != -32022 ||
					!slices.Equal(got.failure.Data["supported"].([]string), Versions()) ||
					got.failure.Data["requested"] != version {
					t.Errorf("%s of %q: %v", name, version, got.failure)
				}
			}
		}
	}
	if cases < 300 {
		t.Errorf("%d cases", cases)
	}
}

// sessionsAt is a signer whose clock a test sets.
func sessionsAt(key string, clock *time.Time) *Sessions {
	s := NewSessions([]byte(key))
	s.now = func() time.Time { return *clock }
	return s
}

var claimed = Claims{
	Version: sessionVersion, Stream: TransferCapability{Declared: true, MaxSize: 42},
	Binary: TransferCapability{Declared: true, MaxSize: 43, Preferred: binary.ModeFrames},
}

func TestSessionIDThatWasAlteredIsRefused(t *testing.T) {
	t.Parallel()
	sessions := NewSessions([]byte("key"))
	id, err := sessions.Mint(claimed, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sessions.Parse(id, ""); err != nil || got.Version != claimed.Version ||
		got.Stream != claimed.Stream || got.Binary != claimed.Binary {
		t.Fatalf("the id itself: %+v, %v", got, err)
	}
	cases := 0
	refuse := func(what, altered string) {
		cases++
		if claims, err := sessions.Parse(altered, ""); err == nil {
			t.Errorf("%s: %q is accepted: %+v", what, altered, claims)
		}
	}
	for i := range id {
		for bit := range 8 {
			altered := []byte(id)
			altered[i] ^= 1 << bit
			refuse(fmt.Sprintf("bit %d of byte %d", bit, i), string(altered))
		}
		refuse("cut short", id[:i])
		refuse("without its beginning", id[i+1:])
		refuse("a byte less", id[:i]+id[i+1:])
		refuse("a byte more", id[:i]+"A"+id[i:])
		// Decoders of base64 pass over line ends; an id has one spelling.
		refuse("a line end inside", id[:i]+"\n"+id[i:])
		refuse("a return inside", id[:i]+"\r"+id[i:])
	}
	payload, signature, _ := strings.Cut(id, ".")
	for what, altered := range map[string]string{
		"padding": id + "=", "a dot": id + ".", "a line end": id + "\n", "a blank": id + " ", "twice": id + id,
		"turned round": signature + "." + payload,
		"no signature": payload + ".", "no payload": "." + signature, "one dot": ".", "nothing": "", "dots": "...",
		"the other alphabet": strings.NewReplacer("-", "+", "_", "/").Replace(payload) + "=." + signature,
		"zeros":              payload + "." + strings.Repeat("A", len(signature)), "an empty object": "e30." + signature,
		"very long": strings.Repeat("A", 1<<20) + "." + signature, "NUL": id + "\x00",
	} {
		refuse(what, altered)
	}
	t.Logf("%d cases", cases)
}

func TestForgedSessionIDIsRefused(t *testing.T) {
	t.Parallel()
	const key = "a key that only this server knows"
	sign := func(key, text string) string {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(text))
		return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	payload := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"v":"2025-11-25","s":{},"n":"x","t":%d}`,
		time.Now().Unix()))
	sessions := NewSessions([]byte(key))
	if _, err := sessions.Parse(payload+"."+sign(key, sessionKeyPurpose+payload), ""); err != nil {
		t.Fatalf("the form of ids is another than this test takes it for: %v", err)
	}
	junk := base64.RawURLEncoding.EncodeToString([]byte("junk"))
	forged := map[string]string{
		"other key":                 payload + "." + sign("another key", sessionKeyPurpose+payload),
		"empty key":                 payload + "." + sign("", sessionKeyPurpose+payload),
		"signature for another use": payload + "." + sign(key, payload),
		"a longer purpose":          payload + "." + sign(key, "x"+sessionKeyPurpose+payload),
		"a plain hash": payload + "." +
			base64.RawURLEncoding.EncodeToString(sha256.New().Sum([]byte(key+payload))),
		"in hex":                 payload + "." + fmt.Sprintf("%x", sign(key, sessionKeyPurpose+payload)),
		"signed junk":            junk + "." + sign(key, sessionKeyPurpose+junk),
		"signed nothing":         "." + sign(key, sessionKeyPurpose),
		"signed, not base64":     "!." + sign(key, sessionKeyPurpose+"!"),
		"signed, without a time": "e30." + sign(key, sessionKeyPurpose+"e30"),
	}
	for what, id := range forged {
		if claims, err := sessions.Parse(id, ""); err == nil {
			t.Errorf("%s: accepted: %+v", what, claims)
		}
	}
	t.Logf("%d cases", len(forged))
}

func TestSessionIDEnds(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	clock := start
	here, replica, stranger := sessionsAt("key", &clock), sessionsAt("key", &clock), sessionsAt("other", &clock)
	id, err := here.Mint(claimed, "")
	if err != nil {
		t.Fatal(err)
	}
	// Clocks of replicas may differ, but not by hours.
	tests := map[time.Duration]bool{
		0: true, time.Second: true, sessionLife - time.Second: true, sessionLife: true, sessionLife +
			time.Second: false, 365 * 24 * time.Hour: false, math.MaxInt64: false,
		-time.Minute: true, -time.Hour: true, -time.Hour - time.Second: false, -365 * 24 * time.Hour: false,
	}
	for after, want := range tests {
		clock = start.Add(after)
		for _, s := range []*Sessions{here, replica} {
			if _, err := s.Parse(id, ""); (err == nil) != want {
				t.Errorf("%v after it was made: %v, want accepted %t", after, err, want)
			}
		}
		if _, err := stranger.Parse(id, ""); err == nil {
			t.Errorf("%v after it was made: accepted with another key", after)
		}
	}
	t.Logf("%d cases", 3*len(tests))
}

func TestSessionIDsAreNeverTheSame(t *testing.T) {
	t.Parallel()
	clock := time.Unix(1_800_000_000, 0)
	sessions := sessionsAt("key", &clock)
	seen := make(map[string]bool)
	for range 1000 {
		id, err := sessions.Mint(claimed, "")
		if err != nil {
			t.Fatal(err)
		}
		if seen[id] {
			t.Fatalf("%s was made twice", id)
		}
		seen[id] = true
		for i := range len(id) {
			if id[i] < '!' || id[i] > '~' {
				t.Fatalf("%q has a byte that is not visible", id)
			}
		}
	}
	// Without a key each server makes its own.
	id, err := NewSessions(nil).Mint(claimed, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*Sessions{"random": NewSessions(nil), "empty": {key: []byte{}, now: time.Now},
		"given": sessions} {
		if _, err := other.Parse(id, ""); err == nil {
			t.Errorf("an id of a random key is accepted with the %s one", name)
		}
	}
	t.Logf("%d cases", len(seen)+3)
}

func TestStreamLimitIsNeverReadAsMoreThanItSays(t *testing.T) {
	t.Parallel()
	declared := func(limit int64) TransferCapability { return TransferCapability{Declared: true, MaxSize: limit} }
	none, bad := TransferCapability{}, TransferCapability{Declared: true, BadSize: true}
	tests := map[string]TransferCapability{
		``: none, `null`: none, `[]`: none, `5`: none, `"x"`: none, `{}`: none, `{`: none, `true`: none,
		`{"resourceStreaming":null}`: none, `{"resourceStreaming":[]}`: none, `{"resourceStreaming":true}`: none,
		`{"resourceStreaming":1}`: none, `{"resourceStreaming":"{}"}`: none,
		`{"ResourceStreaming":{}}`: none, `{"resourcestreaming":{}}`: none, `{"resource\u017ftreaming":{}}`: none,
		`{"resourceStreaming":{}}`: declared(0), `{"resourceStreaming":{"x":1}}`: declared(0),
		`{"resourceStreaming":{"maxStreamSize":null}}`: declared(0), `{"resourceStreaming":{"MaxStreamSize":5}}`: declared(0), `{"resourceStreaming":{"maxstreamsize":"x"}}`: declared(0),
		`{"resourceStreaming":{"maxStreamSize":1}}`: declared(1), `{"resourceStreaming":{"maxStreamSize":1073741824}}`: declared(1 << 30), `{"resourceStreaming":{"maxStreamSize":1e6}}`: declared(1_000_000),
		`{"resourceStreaming":{"maxStreamSize":9.99}}`: declared(9),
		`{"resourceStreaming":{"maxStreamSize":0}}`:    bad, `{"resourceStreaming":{"maxStreamSize":0.5}}`: bad,
		`{"resourceStreaming":{"maxStreamSize":-0.0}}`: bad, `{"resourceStreaming":{"maxStreamSize":-1}}`: bad,
		`{"resourceStreaming":{"maxStreamSize":-9223372036854775809}}`: bad,
		`{"resourceStreaming":{"maxStreamSize":-1e308}}`:               bad,
		`{"resourceStreaming":{"maxStreamSize":1e-400}}`:               bad,
		`{"resourceStreaming":{"maxStreamSize":4611686018427387904}}`:  declared(0),
		`{"resourceStreaming":{"maxStreamSize":9223372036854775807}}`:  declared(0),
		`{"resourceStreaming":{"maxStreamSize":9223372036854775808}}`:  declared(0),
		`{"resourceStreaming":{"maxStreamSize":1e308}}`:                declared(0),
		`{"resourceStreaming":{"maxStreamSize":1e400}}`:                bad, `{"resourceStreaming":{"maxStreamSize":-1e400}}`: bad,
		`{"resourceStreaming":{"maxStreamSize":"5"}}`: bad, `{"resourceStreaming":{"maxStreamSize":""}}`: bad,
		`{"resourceStreaming":{"maxStreamSize":true}}`: bad, `{"resourceStreaming":{"maxStreamSize":{}}}`: bad,
		`{"resourceStreaming":{"maxStreamSize":[5]}}`:                bad,
		`{"experimental":{"resourceStreaming":{"maxStreamSize":5}}}`: declared(5), `{"extensions":{"` +
			ExtensionStream + `":{"maxStreamSize":6}}}`: declared(6), `{"extensions":{"resourceStreaming":{}}}`: none,
		`{"resourceStreaming":{"maxStreamSize":4},"experimental":{"resourceStreaming":{"maxStreamSize":5}}}`: declared(4), `{"resourceStreaming":{"maxStreamSize":4},"experimental":5,"extensions":[]}`: declared(4),
		`{"experimental":{"resourceStreaming":5},"extensions":{"` + ExtensionStream + `":{}}}`: declared(0),
	}
	for capabilities, want := range tests {
		if got := parseStreamCapability(json.RawMessage(capabilities)); got != want {
			t.Errorf("%s: %+v, want %+v", capabilities, got, want)
		}
	}
	t.Logf("%d cases", len(tests))
}

// An id is valid only for its principal, and one without a principal only without authentication.
func TestASessionIDIsOfOnePrincipal(t *testing.T) {
	t.Parallel()
	sessions := NewSessions(nil)
	principals := []string{"", "token:alice", "token:alice2", "oauth:alice"}
	for _, owner := range principals {
		id, err := sessions.Mint(Claims{Version: sessionVersion}, owner)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range principals {
			if _, err := sessions.Parse(id, other); (err == nil) != (owner == other) {
				t.Errorf("the session of %q, sent by %q: %v", owner, other, err)
			}
		}
	}
}
