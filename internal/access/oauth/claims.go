package oauth

import (
	"encoding/json"
	"strings"
	"time"
)

// claims are what a token says.
type claims map[string]json.RawMessage

// scopes are those of "scope" (RFC 8693, a text) or of "scp", which some issuers write
// in its place, as a text or a list.
func (c claims) scopes() []string {
	scopes := words(c["scope"])
	return append(scopes, words(c["scp"])...)
}

// groups are those of a claim, by its name or, where there is none of that name, by the
// names of objects that lead to it.
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

// notBefore is zero where the token does not say.
func (c claims) notBefore() (time.Time, error) {
	value, ok := c["nbf"]
	if !ok || string(value) == "null" {
		return time.Time{}, nil
	}
	var seconds float64
	if err := json.Unmarshal(value, &seconds); err != nil {
		return time.Time{}, err
	}
	return time.Unix(int64(seconds), 0), nil
}

// words are those of a text, or the texts of a list.
func words(value json.RawMessage) []string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.Fields(text)
	}
	return list(value)
}

// list is a list of texts, or one text.
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
