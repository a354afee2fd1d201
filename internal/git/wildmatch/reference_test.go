package wildmatch_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// reference tries every way to take each asterisk, by the definitions of
// gitattributes(5) and gitignore(5), until its steps are used up.
type reference struct {
	path, fold bool
	steps      int
}

func (r *reference) match(pattern, text string, start bool) bool {
	r.steps--
	if r.steps < 0 {
		return false
	}
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return r.asterisks(pattern, text, start)
	}
	if text == "" {
		return false
	}
	rest, ok := r.element(pattern, text[0])
	return ok && r.match(rest, text[1:], pattern[0] == '/' || strings.HasPrefix(pattern, `\/`))
}

// asterisks is called with start if a component of the pattern begins here.
func (r *reference) asterisks(pattern, text string, start bool) bool {
	rest := strings.TrimLeft(pattern, "*")
	bound := rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`)
	deep := !r.path || len(pattern)-len(rest) > 1 && start && bound
	if r.path && deep && strings.HasPrefix(rest, "/") && r.match(rest[1:], text, true) {
		return true
	}
	for i := 0; i <= len(text); i++ {
		if r.match(rest, text[i:], false) {
			return true
		}
		if i < len(text) && text[i] == '/' && !deep {
			return false
		}
	}
	return false
}

func (r *reference) element(pattern string, c byte) (rest string, ok bool) {
	if r.fold && 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	switch pattern[0] {
	case '\\':
		if len(pattern) == 1 {
			return "", false
		}
		return pattern[2:], pattern[1] == c
	case '?':
		return pattern[1:], !r.path || c != '/'
	case '[':
		rest, in, closed := r.set(pattern[1:])
		return rest, closed && in[c] && (!r.path || c != '/')
	}
	p := pattern[0]
	if r.fold && 'A' <= p && p <= 'Z' {
		p += 'a' - 'A'
	}
	return pattern[1:], p == c
}

// set lists the members, after which it says of which bytes it is.
func (r *reference) set(pattern string) (rest string, in [256]bool, closed bool) {
	negated := strings.HasPrefix(pattern, "!") || strings.HasPrefix(pattern, "^")
	if negated {
		pattern = pattern[1:]
	}
	previous := byte(0)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == ']' && i > 0:
			if negated {
				for j := range in {
					in[j] = !in[j]
				}
			}
			return pattern[i+1:], in, true
		case c == '\\':
			i++
			if i == len(pattern) {
				return "", in, false
			}
			in[pattern[i]] = true
			previous = pattern[i]
		case c == '-' && previous != 0 && i+1 < len(pattern) && pattern[i+1] != ']':
			i++
			if pattern[i] == '\\' {
				i++
			}
			if i == len(pattern) {
				return "", in, false
			}
			r.between(&in, int(previous), int(pattern[i]))
			previous = 0
		case c == '[' && strings.HasPrefix(pattern[i+1:], ":"):
			name, after, found := strings.Cut(pattern[i+2:], "]")
			if !found {
				return "", in, false
			}
			if !strings.HasSuffix(name, ":") {
				in['['] = true
				previous = '['
				continue
			}
			if !r.class(&in, strings.TrimSuffix(name, ":")) {
				return "", in, false
			}
			previous = 0
			i = len(pattern) - len(after) - 1
		default:
			in[c] = true
			previous = c
		}
	}
	return "", in, false
}

func (r *reference) between(in *[256]bool, from, to int) {
	for c := from; c <= to; c++ {
		in[c] = true
		if r.fold && 'A' <= c && c <= 'Z' {
			in[c+'a'-'A'] = true
		}
	}
}

func (r *reference) class(in *[256]bool, name string) bool {
	const small, large, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	const signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	control := "\x7f"
	for c := range ' ' {
		control += string(c)
	}
	upper := large
	if r.fold {
		upper += small
	}
	members, known := map[string]string{
		"alnum": small + large + digits, "alpha": small + large, "blank": " \t", "cntrl": control,
		"digit": digits, "graph": small + large + digits + signs, "lower": small,
		"print": small + large + digits + signs + " ", "punct": signs, "space": " \t\n\r",
		"upper": upper, "xdigit": digits + "abcdefABCDEF",
	}[name]
	for _, c := range []byte(members) {
		in[c] = true
	}
	return known
}

// compare reports whether the reference had enough steps for an answer.
func compare(t *testing.T, pattern, text string, flags wildmatch.Flags) bool {
	got := wildmatch.Match(pattern, []byte(text), flags)
	r := reference{path: flags&wildmatch.PathName != 0, fold: flags&wildmatch.CaseFold != 0, steps: 200_000}
	want := r.match(pattern, text, true)
	if r.steps >= 0 && got != want {
		t.Errorf("Match(%q, %q, %02b) = %v", pattern, text, flags, got)
	}
	return r.steps >= 0
}

func TestReferenceAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	compared := 0
	for range 50_000 {
		pattern, text := pair(r)
		for _, flags := range modes {
			if compare(t, pattern, text, flags) {
				compared++
			}
		}
	}
	if compared < 150_000 {
		t.Errorf("only %d pairs", compared)
	}
}

func FuzzMatch(f *testing.F) {
	for _, c := range readCases(f) {
		f.Add(c.pattern, c.text)
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if strings.Contains(pattern+text, "\x00") {
			t.Skip("C has no such strings")
		}
		for _, flags := range modes {
			compare(t, pattern, text, flags)
		}
		n := wildmatch.Literal(pattern)
		if !wildmatch.Match(pattern[:n], []byte(pattern[:n]), wildmatch.PathName) {
			t.Errorf("%q does not match itself", pattern[:n])
		}
	})
}
