package subst

import (
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/message"
)

// basicColors are the colours that need no parentheses. An archive shows none
// of them.
var basicColors = []string{"red", "green", "blue", "reset"}

// color is %C: nothing, as colours are for terminals, unless they are asked for
// with %C(always,…).
func (f *formatter) color(out *buffer, p string) int {
	for _, name := range basicColors {
		if strings.HasPrefix(p[1:], name) {
			return 1 + len(name)
		}
	}
	value, ok := strings.CutPrefix(p, "C(")
	if !ok {
		return 0
	}
	end := f.indexAny(value, ")")
	if end < 0 {
		return 0
	}
	if value, ok := strings.CutPrefix(value[:end], "always,"); ok {
		sequence, ok := escapeSequence(value)
		if !ok {
			f.fail(&FatalError{Reason: fmt.Sprintf("unknown colour %.40q", value)})
		}
		out.add(sequence)
	}
	return len("C(") + end + 1
}

// attributes are those of text: what turns them on, what turns them off.
var attributes = map[string]struct{ on, off int }{
	"bold": {1, 22}, "dim": {2, 22}, "italic": {3, 23}, "ul": {4, 24},
	"blink": {5, 25}, "reverse": {7, 27}, "strike": {9, 29},
}

// maxAttribute is the largest number in attributes.
const maxAttribute = 29

// colorNames are the names in the order of their numbers.
var colorNames = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

// Numbers of colours: ECMA-48, and what terminals made of it.
const (
	foreground   = 30
	bright       = 90
	toBackground = 10 // from a foreground's number
	extended     = 38
	defaultColor = 39
)

// escapeSequence is color_parse_mem (color.c): [reset] [foreground
// [background]] attributes.
func escapeSequence(value string) (string, bool) {
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(spaces, r) })
	var codes []string
	var colors []func(offset int) string
	var set [maxAttribute + 1]bool
	reset := false
	for _, word := range words {
		if message.FoldCase(word) == "reset" {
			reset = true
			continue
		}
		if color, ok := parseColor(word); ok && len(colors) < 2 {
			colors = append(colors, color)
			continue
		} else if ok {
			return "", false
		}
		number, ok := parseAttribute(word)
		if !ok {
			return "", false
		}
		set[number] = true
	}
	if reset {
		codes = append(codes, "")
	}
	for number, on := range set {
		if on {
			codes = append(codes, fmt.Sprint(number))
		}
	}
	for i, color := range colors {
		if color != nil {
			codes = append(codes, color(i*toBackground))
		}
	}
	if len(codes) == 0 {
		return "", true
	}
	return "\x1b[" + strings.Join(codes, ";") + "m", true
}

// parseColor gives how to write a colour, nil for "normal".
func parseColor(word string) (func(offset int) string, bool) {
	if message.FoldCase(word) == "normal" {
		return nil, true
	}
	if rgb, ok := parseRGB(word); ok {
		return func(offset int) string {
			return fmt.Sprintf("%d;2;%d;%d;%d", extended+offset, rgb[0], rgb[1], rgb[2])
		}, true
	}
	if number, ok := namedColor(message.FoldCase(word)); ok {
		return plainColor(number), true
	}
	number, length := parseSigned(word)
	switch {
	case length != len(word) || number < -1 || number > 255:
		return nil, false
	case number < 0:
		return nil, true
	case number < 8:
		return plainColor(foreground + int(number)), true
	case number < 16:
		return plainColor(bright + int(number) - 8), true
	default:
		return func(offset int) string { return fmt.Sprintf("%d;5;%d", extended+offset, number) }, true
	}
}

func plainColor(number int) func(offset int) string {
	return func(offset int) string { return fmt.Sprint(number + offset) }
}

func namedColor(word string) (int, bool) {
	if word == "default" {
		return defaultColor, true
	}
	base := foreground
	if rest, ok := strings.CutPrefix(word, "bright"); ok {
		word, base = rest, bright
	}
	for i, name := range colorNames {
		if word == name {
			return base + i, true
		}
	}
	return 0, false
}

func parseRGB(word string) (rgb [3]byte, ok bool) {
	if len(word) != len("#rrggbb") || word[0] != '#' {
		return rgb, false
	}
	for i := range rgb {
		if rgb[i], ok = hexPair(word[1+2*i:]); !ok {
			return rgb, false
		}
	}
	return rgb, true
}

func parseAttribute(word string) (int, bool) {
	name, negated := strings.CutPrefix(word, "no")
	if negated {
		name = strings.TrimPrefix(name, "-")
	}
	attribute, ok := attributes[name]
	if negated {
		return attribute.off, ok
	}
	return attribute.on, ok
}
