package oauth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
)

// claims are a token's claims by their exact names. They are parsed with the JSON decoder of
// go-jose, which, unlike encoding/json, does not fold names and refuses duplicate names.
type claims map[string]json.RawMessage

// registered are the claims that admission depends on (RFC 7519, section 4.1, and RFC 7800, section 3.1).
type registered struct {
	Issuer    string           `json:"iss"`
	Subject   string           `json:"sub"`
	Audience  jwt.Audience     `json:"aud"`
	Expiry    *jwt.NumericDate `json:"exp"`
	NotBefore *jwt.NumericDate `json:"nbf"`
	IssuedAt  *jwt.NumericDate `json:"iat"`

	Confirmation json.RawMessage `json:"cnf"`
}

var registeredNames = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "cnf"}

// readClaims parses the claims of a token; known are the registered ones. Dates are numbers, whose
// fractions are dropped. A token is refused if it has a name that some parsers confuse with a
// registered one, because the issuer may let others choose such a name.
func readClaims(payload []byte) (known registered, said claims, err error) {
	if err := json.Unmarshal(payload, &said); err != nil {
		return known, nil, errors.New("its claims are no JSON object in which each name is there once")
	}
	for name, value := range said {
		i := slices.IndexFunc(registeredNames, func(claim string) bool { return strings.EqualFold(name, claim) })
		switch {
		case i >= 0 && name != registeredNames[i]:
			return known, nil, fmt.Errorf("it has %q, which could be taken for %s", name, registeredNames[i])
		case i >= 0 && string(value) == "null":
			return known, nil, fmt.Errorf("its %s is null", name)
		}
	}
	if err := json.Unmarshal(payload, &known); err != nil {
		return known, nil, errors.New("one of iss, sub, aud, exp, nbf and iat is of another type or out of range")
	}
	return known, said, nil
}

// scopes returns the scopes of "scope" (RFC 8693, a string) and of "scp", which some issuers write
// instead, as a string or a list.
func (c claims) scopes() []string {
	scopes := words(c["scope"])
	return append(scopes, words(c["scp"])...)
}

// groups returns the groups of a claim, by its name or, if there is none, by a path of object
// names.
func (c claims) groups(name string) []string {
	if value, ok := c[name]; ok {
		return list(value)
	}
	for {
		outer, inner, nested := strings.Cut(name, ".")
		if !nested {
			return list(c[name])
		}
		var object claims
		if json.Unmarshal(c[outer], &object) != nil {
			return nil
		}
		c, name = object, inner
	}
}

// words returns the words of a string, or the strings of a list.
func words(value json.RawMessage) []string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.Fields(text)
	}
	return list(value)
}

// list returns a list of strings, or one string as a list.
func list(value json.RawMessage) []string {
	var one string
	if json.Unmarshal(value, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(value, &many) != nil {
		return nil
	}
	return many
}
