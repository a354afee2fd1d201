package subst

import "strings"

// arguments are the options after the colon of %(describe:…) and
// %(trailers:…), a list with commas that ends at a parenthesis.
type arguments struct {
	*meter
	rest string
}

// take moves past an option with the given name: match_placeholder_arg_value
// (pretty.c). given says whether it has a value.
func (a *arguments) take(name string) (value string, given, ok bool) {
	rest, ok := strings.CutPrefix(a.rest, name)
	if !ok {
		return "", false, false
	}
	if after, found := strings.CutPrefix(rest, "="); found {
		end := strings.IndexAny(after, ",)")
		if end < 0 {
			a.spend(len(after))
			return "", false, false
		}
		a.spend(end)
		value, given, rest = after[:end], true, after[end:]
	}
	switch at(rest, 0) {
	case ',':
		a.rest = rest[1:]
	case ')':
		a.rest = rest
	default:
		return "", false, false
	}
	return value, given, true
}

// takeBool moves past an option that is on or off. One with a value that is
// neither does not count, but is passed over all the same, as git does.
func (a *arguments) takeBool(name string) (value, ok bool) {
	text, given, ok := a.take(name)
	if !ok || !given {
		return ok, ok
	}
	return parseBool(text)
}
