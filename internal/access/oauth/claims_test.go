package oauth_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/repomcp/repomcp/internal/access/oauth/issuertest"
)

// The names of claims are case-sensitive (RFC 7519, section 10.1.1). A token with a name that
// another reader may take for a registered one is refused, whatever the registered one says.
func TestNamesOfClaimsAreExact(t *testing.T) {
	t.Parallel()
	source := issuertest.Start(t)
	issuer := open(t, source.URL, &clock{})
	past, future := time.Now().Add(-3*time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	for _, c := range []map[string]any{
		{"aud": "https://other.example/mcp", "AUD": audience},
		{"aud": nil, "AUD": audience},
		{"iss": "http://evil.example", "Iss": source.URL},
		{"iss": nil, "Iss": source.URL},
		{"exp": past, "EXP": future},
		{"exp": past, "eXp": future},
		{"exp": nil, "EXP": future},
		{"nbf": future, "Nbf": past},
		{"iat": future, "IAT": past},
		{"sub": "bob", "Sub": "admin"},
		{"sub": "bob", "ſub": "admin"},
		{"ſub": "alice"},
		{"sub": nil, "Sub": "admin"},
		{"iſs": source.URL}, {"Aud": audience}, {"NBF": past}, {"Exp": future}, {"IAT": past},
	} {
		for _, last := range []bool{false, true} { // readers that fold names may take the last one
			text := orderedJSON(t, source.Claims(audience, c), last)
			who, err := issuer.Authenticate(t.Context(), source.TokenOf(t, text, nil))
			if kind(t, err) != "invalid" || who.ID != "" {
				t.Errorf("the token %s is of %q, %v; it should be refused", text, who.ID, err)
			}
		}
	}
	// Names that merely resemble a registered one mean nothing.
	other := map[string]any{"sub2": "admin", "issuer": "http://evil.example", "ıss": "x", "auds": 1, "SCOPE": "more"}
	who, err := issuer.Authenticate(t.Context(), source.Token(t, source.Claims(audience, other)))
	if err != nil || who.ID != "oauth:alice" || len(who.Scopes) != 2 {
		t.Errorf("a token with %v is of %+v, %v", other, who, err)
	}
}

// orderedJSON writes an object with its names in the order of their bytes, or the other way round.
func orderedJSON(t *testing.T, claims map[string]any, backward bool) string {
	t.Helper()
	names := slices.Sorted(maps.Keys(claims))
	if backward {
		slices.Reverse(names)
	}
	var members []string
	for _, name := range names {
		text, err := json.Marshal(map[string]any{name: claims[name]})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, string(text[1:len(text)-1]))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// A name that is there twice is refused (RFC 7519, section 4), wherever readers could differ.
func TestClaimsAreThereOnce(t *testing.T) {
	t.Parallel()
	source := issuertest.Start(t)
	issuer := open(t, source.URL, &clock{})
	good := orderedJSON(t, source.Claims(audience, nil), false)
	for _, c := range []struct{ text, want string }{
		{good, ""},
		{strings.Replace(good, `{`, `{"sub":"admin",`, 1), "invalid"},
		{strings.TrimSuffix(good, `}`) + `,"aud":"x"}`, "invalid"},
		{strings.TrimSuffix(good, `}`) + `,"x":1,"x":2}`, "invalid"},
		{strings.TrimSuffix(good, `}`) + `,"\u0073ub":"admin"}`, "invalid"},
		{good + good, "invalid"}, {"[" + good + "]", "invalid"}, {"", "invalid"}, {"null", "invalid"},
	} {
		if _, err := issuer.Authenticate(t.Context(), source.TokenOf(t, c.text, nil)); kind(t, err) != c.want {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}

// Claims have the types of RFC 7519, section 4.1; a date is a number (section 2) that can be one.
func TestClaimsHaveTheirTypes(t *testing.T) {
	t.Parallel()
	source := issuertest.Start(t)
	issuer := open(t, source.URL, &clock{})
	past, future := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	number := func(text string) any { return json.Number(text) }
	good := []map[string]any{
		{"nbf": nil, "iat": nil}, {"nbf": 0}, {"iat": future}, {"jti": 7}, {"nbf": float64(past) + 0.25}, {"exp": float64(future) + 0.75},
		{"exp": number("9999999999")}, {"exp": number("9.999e9")}, {"aud": []string{audience}}, {"aud": audience},
	}
	bad := []map[string]any{
		{"nbf": number("1e19")}, {"nbf": number("9223372036854775808")}, {"nbf": number("1e300")},
		{"nbf": number("9e18")}, {"nbf": number("1e400")}, {"nbf": []int{1}},
		{"exp": "9999999999"}, {"exp": number("1e19")}, {"exp": number("-1e19")}, {"exp": number("-1")},
		{"exp": true}, {"exp": map[string]any{}}, {"exp": 0}, {"exp": nil},
		{"nbf": "0"}, {"iat": "0"}, {"iat": number("1e19")},
		{"exp": json.RawMessage("null")}, {"nbf": json.RawMessage("null")}, {"iat": json.RawMessage("null")},
		{"aud": []any{audience, 7}}, {"aud": []any{}}, {"aud": 7}, {"aud": map[string]any{audience: true}},
		{"aud": json.RawMessage("null")}, {"iss": []string{source.URL}}, {"iss": json.RawMessage("null")},
		{"iss": source.URL + "/"}, {"sub": []string{"alice"}}, {"sub": json.RawMessage("null")},
	}
	for want, list := range map[string][]map[string]any{"": good, "invalid": bad} {
		for _, c := range list {
			_, err := issuer.Authenticate(t.Context(), source.Token(t, source.Claims(audience, c)))
			if kind(t, err) != want {
				t.Errorf("%v: %v, want %q", c, err, want)
			}
		}
	}
}

// A token that is bound to a key is good only together with a proof of that key (RFC 7800, section 3; RFC 9449, section
// 6; RFC 8705, section 3), which this server does not check.
func TestBoundTokensAreRefused(t *testing.T) {
	t.Parallel()
	source := issuertest.Start(t)
	issuer := open(t, source.URL, &clock{})
	for _, claims := range []map[string]any{
		{"cnf": map[string]any{"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}},
		{"cnf": map[string]any{"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}},
		{"cnf": map[string]any{"jwk": map[string]any{"kty": "EC"}}}, {"cnf": map[string]any{}},
		{"cnf": "x"}, {"cnf": []int{}}, {"cnf": false}, {"cnf": json.RawMessage("null")}, {"Cnf": map[string]any{}},
	} {
		_, err := issuer.Authenticate(t.Context(), source.Token(t, source.Claims(audience, claims)))
		if kind(t, err) != "invalid" {
			t.Errorf("a token with %v: %v, want it refused", claims, err)
		}
	}
	good := orderedJSON(t, source.Claims(audience, nil), false)
	for typ, want := range map[string]string{
		"at+jwt": "", "JWT": "", "dpop+jwt": "invalid", "DPoP+JWT": "invalid", "application/dpop+jwt": "invalid",
	} {
		token := source.TokenOf(t, good, map[jose.HeaderKey]any{jose.HeaderType: typ})
		_, err := issuer.Authenticate(t.Context(), token)
		if kind(t, err) != want {
			t.Errorf("a token of the type %s: %v, want %q", typ, err, want)
		}
	}
}

// A header that names what has to be understood (crit: RFC 7515, section 4.1.11) names nothing
// that is understood here, and an empty list is none.
func TestCriticalHeadersAreRefused(t *testing.T) {
	t.Parallel()
	source := issuertest.Start(t)
	issuer := open(t, source.URL, &clock{})
	text := orderedJSON(t, source.Claims(audience, nil), false)
	for _, c := range []struct {
		header map[jose.HeaderKey]any
		want   string
	}{
		{nil, ""}, {map[jose.HeaderKey]any{"x": 1}, ""},
		{map[jose.HeaderKey]any{"crit": []string{}}, "invalid"},
		{map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}, "invalid"},
		{map[jose.HeaderKey]any{"crit": "x"}, "invalid"},
	} {
		_, err := issuer.Authenticate(t.Context(), source.TokenOf(t, text, c.header))
		if kind(t, err) != c.want {
			t.Errorf("%v: %v, want %q", c.header, err, c.want)
		}
	}
}
