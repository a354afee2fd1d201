package links

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func rawOf(t *testing.T, token string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestEveryAlteredByteIsForged alters each byte of tokens in all ways that
// bits and neighbours can, and each character of the text to every other one.
func TestEveryAlteredByteIsForged(t *testing.T) {
	a := newAuthority(t, Options{})
	token, _ := a.mustMint(t, grant())
	raw, tried := rawOf(t, token), 0
	for i := range raw {
		for change := 1; change < 256; change++ {
			altered := bytes.Clone(raw)
			altered[i] ^= byte(change)
			if _, err := a.Verify(encoding.EncodeToString(altered), use()); !errors.Is(err, ErrForged) {
				t.Fatalf("byte %d ^ %#x: %v", i, change, err)
			}
			tried++
		}
	}
	for i := range token {
		for _, c := range []byte(alphabet + "+/=.~% \r\n\x00\xff") {
			if token[i] == c {
				continue
			}
			altered := token[:i] + string(c) + token[i+1:]
			if _, err := a.Verify(altered, use()); !errors.Is(err, ErrForged) {
				t.Fatalf("character %d to %q: %v", i, c, err)
			}
			tried++
		}
	}
	if _, err := a.Verify(token, use()); err != nil {
		t.Fatalf("the token itself: %v", err)
	}
	t.Logf("%d alterations of %d bytes", tried, len(raw))
}

// TestOneTokenPerLink tries other spellings, lengths and orders of the parts of
// a token.
func TestOneTokenPerLink(t *testing.T) {
	a := newAuthority(t, Options{})
	token, _ := a.mustMint(t, grant())
	other, _ := a.mustMint(t, grant())
	raw, otherRaw := rawOf(t, token), rawOf(t, other)
	claims := len(raw) - macBytes
	join := func(parts ...[]byte) string { return encoding.EncodeToString(bytes.Join(parts, nil)) }
	forged := map[string]string{
		"empty":                "",
		"padded":               token + "=",
		"padded twice":         token + "==",
		"line end":             token + "\n",
		"line end inside":      token[:40] + "\r\n" + token[40:],
		"space":                " " + token,
		"base64 twice":         encoding.EncodeToString([]byte(token)),
		"percent-encoded":      "%" + token[1:],
		"upper case":           strings.ToUpper(token),
		"one byte more":        join(raw, []byte{0}),
		"one byte before":      join([]byte{0}, raw),
		"twice":                token + token,
		"halves exchanged":     join(raw[len(raw)/2:], raw[:len(raw)/2]),
		"signature first":      join(raw[claims:], raw[:claims]),
		"nonce of another":     join(raw[:9], otherRaw[9:headerBytes], raw[headerBytes:]),
		"claims of another":    join(raw[:headerBytes], otherRaw[headerBytes:len(otherRaw)-macBytes], raw[claims:]),
		"signature of another": join(raw[:claims], otherRaw[len(otherRaw)-macBytes:]),
		"claims twice":         join(raw[:claims], raw[headerBytes:claims], raw[claims:]),
		"no claims":            join(raw[:headerBytes], raw[claims:]),
		"reversed":             reversed(token),
	}
	for name, text := range forged {
		if _, err := a.Verify(text, use()); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range len(token) {
		if _, err := a.Verify(token[:n], use()); !errors.Is(err, ErrForged) {
			t.Errorf("the first %d characters: %v", n, err)
		}
		if _, err := a.Verify(token[n+1:], use()); !errors.Is(err, ErrForged) {
			t.Errorf("from character %d: %v", n+1, err)
		}
	}
	for n := range len(raw) {
		if _, err := a.Verify(join(raw[:n], raw[n+1:]), use()); !errors.Is(err, ErrForged) {
			t.Errorf("without byte %d: %v", n, err)
		}
	}
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// TestTheSealHoldsAlone alters what is sealed and signs it anew.
func TestTheSealHoldsAlone(t *testing.T) {
	a := newAuthority(t, Options{})
	k := a.options.Keys.Value()[0]
	token, _ := a.mustMint(t, grant())
	raw := rawOf(t, token)
	body := raw[:len(raw)-macBytes]
	for i := 1 + len(keyTag{}); i < len(body); i++ {
		altered := bytes.Clone(body)
		altered[i] ^= 0x10
		if _, err := a.Verify(encoding.EncodeToString(append(altered, k.sign(altered)...)), use()); !errors.Is(err,
			ErrForged) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
}

// TestTrailingBits is about texts that a lax decoder takes for the same bytes.
func TestTrailingBits(t *testing.T) {
	a, tried := newAuthority(t, Options{}), 0
	for n := range 6 {
		g := grant()
		g.Resource += repeatByte(n)
		token, _ := a.mustMint(t, g)
		raw := rawOf(t, token)
		for _, c := range []byte(alphabet) {
			twin := token[:len(token)-1] + string(c)
			got, err := base64.RawURLEncoding.DecodeString(twin)
			if twin == token || err != nil || !bytes.Equal(got, raw) {
				continue
			}
			tried++
			if _, err := a.Verify(twin, use()); !errors.Is(err, ErrForged) {
				t.Errorf("%q for %q: %v", twin[len(twin)-1:], token[len(token)-1:], err)
			}
		}
	}
	if tried == 0 {
		t.Error("no token of the test has trailing bits")
	}
}

// TestNothingReadable looks for the claims in the token, and in tokens of many
// lengths of a resource for that length.
func TestNothingReadable(t *testing.T) {
	a := newAuthority(t, Options{})
	g := grant()
	g.Reader, g.Rights = "token:alice", "members of the reading room"
	token, l := a.mustMint(t, g)
	raw := rawOf(t, token)
	for _, secret := range []string{g.Resource, g.Repository, g.Principal, g.Reader, g.Rights, commit,
		"git.example.com", "random",
		"tar.gz"} {
		for _, b := range [][]byte{raw, []byte(token)} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%q can be read", secret)
			}
		}
	}
	expires := binary.BigEndian.AppendUint64(nil, uint64(l.Expires.Unix()))
	if bytes.Contains(raw, expires[4:]) {
		t.Error("the expiry can be read")
	}
	again, _ := a.mustMint(t, g)
	if same := commonBytes(raw[headerBytes:], rawOf(t, again)[headerBytes:]); same > len(raw)/8 {
		t.Errorf("%d of %d bytes are those of another token for the same", same, len(raw))
	}
	lengths := map[int]bool{}
	for n := range paddingBytes {
		g.Resource = "repo://x/archive/" + repeatByte(n)
		token, _ := a.mustMint(t, g)
		lengths[len(token)] = true
	}
	if len(lengths) > 2 {
		t.Errorf("%d lengths of tokens tell %d lengths of resources apart", len(lengths), paddingBytes)
	}
}

func commonBytes(a, b []byte) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

func TestLengthIsBounded(t *testing.T) {
	a := newAuthority(t, Options{})
	for n := 4000; n < maxClaimsBytes+100; n++ {
		g := grant()
		g.Resource = repeatByte(n)
		token, _, err := a.Mint(g)
		if err == nil {
			if len(token) > MaxTokenBytes {
				t.Fatalf("a token has %d bytes, more than %d", len(token), MaxTokenBytes)
			}
			if l, err := a.Verify(token, use()); err != nil || l.Resource != g.Resource {
				t.Fatalf("%d bytes of resource: %v", n, err)
			}
			continue
		}
		if !errors.Is(err, ErrTooLong) {
			t.Fatalf("%d bytes of resource: %v", n, err)
		}
		if n < 4<<10 {
			t.Fatalf("%d bytes of resource are refused", n)
		}
	}
	for name, change := range map[string]func(*Grant){
		"resource":   func(g *Grant) { g.Resource = repeatByte(1 << 17) },
		"repository": func(g *Grant) { g.Repository = repeatByte(1 << 16) },
		"principal":  func(g *Grant) { g.Principal = repeatByte(maxPrincipalBytes + 1) },
		"reader":     func(g *Grant) { g.Reader = repeatByte(maxPrincipalBytes + 1) },
		"rights":     func(g *Grant) { g.Rights = repeatByte(maxClaimsBytes) },
	} {
		g := grant()
		change(&g)
		if _, _, err := a.Mint(g); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, n := range []int{MaxTokenBytes + 1, 1 << 20} {
		if _, err := a.Verify(repeatByte(n), use()); !errors.Is(err, ErrTooLong) {
			t.Errorf("a token of %d bytes: %v", n, err)
		}
	}
	if _, err := a.Verify(repeatByte(MaxTokenBytes), use()); !errors.Is(err, ErrForged) {
		t.Errorf("the longest token: %v", err)
	}
}

// signed makes a token of any claims, as another program with the key could.
func signed(t *testing.T, k *key, version byte, claims []byte) string {
	t.Helper()
	nonce := Nonce{1, 2, 3}
	header := append(append([]byte{version}, k.tag[:]...), nonce[:]...)
	aead, iv, err := k.cipher(nonce)
	if err != nil {
		t.Fatal(err)
	}
	raw := aead.Seal(header, iv, claims, header)
	return encoding.EncodeToString(append(raw, k.sign(raw)...))
}

// TestSignedNonsense is about claims that are signed but that encode does not
// write: dates that overflow, flags and kinds to come, spare bytes.
func TestSignedNonsense(t *testing.T) {
	now := newClock()
	a := newAuthority(t, Options{Now: now.Now})
	k := a.options.Keys.Value()[0]
	_, l := a.mustMint(t, grant())
	good, err := l.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Verify(signed(t, k, tokenVersion, good), use()); err != nil {
		t.Fatalf("good claims: %v", err)
	}
	for _, version := range []byte{0, tokenVersion + 1, 0xff} {
		if _, err := a.Verify(signed(t, k, version, good), use()); !errors.Is(err, ErrForged) {
			t.Errorf("version %d: %v", version, err)
		}
	}
	put := func(at int, value uint64) []byte {
		b := bytes.Clone(good)
		binary.BigEndian.PutUint64(b[at:], value)
		return b
	}
	set := func(at int, value byte) []byte {
		b := bytes.Clone(good)
		b[at] = value
		return b
	}
	const issued, expires = 3, 11
	cases := map[string][]byte{
		"empty":              {},
		"one step of zeros":  make([]byte, paddingBytes),
		"no kind":            set(0, 0),
		"unknown kind":       set(0, 3),
		"no method":          set(1, 0),
		"unknown method":     set(1, 4|1),
		"unknown flag":       set(2, 4),
		"padding not zero":   set(len(good)-1, 1),
		"a step too much":    append(bytes.Clone(good), make([]byte, paddingBytes)...),
		"half a step more":   append(bytes.Clone(good), make([]byte, paddingBytes/2)...),
		"a byte less":        good[:len(good)-1],
		"text beyond end":    set(fixedClaimsBytes, 0xff),
		"a flag of before":   set(2, 2),
		"lifetime zero":      put(expires, uint64(l.Issued.Unix())),
		"lifetime too long":  put(expires, uint64(l.Issued.Add(MaxLifetime+2*time.Second).Unix())),
		"expires 0":          put(expires, 0),
		"issued 0":           put(issued, 0),
		"issued in 2^63":     put(issued, 1<<63),
		"issued in 2^64-1":   put(issued, math.MaxUint64),
		"issued at its end":  put(issued, math.MaxInt64/uint64(time.Millisecond)),
		"expires at its end": put(expires, math.MaxInt64/uint64(time.Second)),
	}
	for _, value := range []uint64{1 << 31, 1 << 32, 1 << 33, 1 << 53, 1 << 62, 1 << 63, math.MaxInt64, math.MaxUint64,
		math.MaxUint64 - 62135596800} {
		cases[describe("expires", value)] = put(expires, value)
	}
	for name, claims := range cases {
		if _, err := a.Verify(signed(t, k, tokenVersion, claims), use()); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRoundTrip mints links with every combination of small things and random
// texts, and finds them in the token.
func TestRoundTrip(t *testing.T) {
	now := newClock()
	a := newAuthority(t, Options{Now: now.Now, Nonces: NewMemory(now.Now)})
	random := rand.New(rand.NewPCG(1, 2))
	text := func(least, most int) string {
		b := make([]byte, least+random.IntN(most-least+1))
		for i := range b {
			b[i] = byte(random.UintN(256))
		}
		return string(b)
	}
	for i := range 3000 {
		now.pass(time.Duration(random.Int64N(int64(time.Minute))))
		g := Grant{
			Kind: Kind(1 + i%2), Methods: Methods(1 + i%3), Resource: text(1, 4<<10), Repository: text(1, 300),
			Principal: text(0, maxPrincipalBytes/2), Reader: text(0, 100), Rights: text(0, 100),
			SingleUse: i%5 < 2, Lifetime: time.Second +
				time.Duration(random.Int64N(int64(MaxLifetime-time.Second)+1)),
		}
		token, minted := a.mustMint(t, g)
		methods := map[Methods]string{GET: "GET", HEAD: "HEAD", GET | HEAD: "GET"}
		u := Use{Method: methods[g.Methods], Host: "GIT.example.com:443", Principal: g.Principal}
		got, err := a.Verify(token, u)
		if err != nil {
			t.Fatalf("%+v: %v", g, err)
		}
		if got != minted {
			t.Fatalf("minted %+v, found %+v", minted, got)
		}
		g.Lifetime = minted.Lifetime
		if got.Grant != g || minted.Lifetime <= 0 || got.Expires.After(now.Now().Add(MaxLifetime)) {
			t.Fatalf("asked for %+v, got %+v", g, minted)
		}
	}
}
