package pretty

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/git/message"
)

// color expands %C(…), and %C with a basic colour. It expands to nothing, because colours are for
// terminals, except with %C(always,…).
func (x *expansion) color(out *buffer, args string) (rest string, ok bool) {
	for _, name := range []string{"red", "green", "blue", "reset"} {
		if after, found := strings.CutPrefix(args, name); found {
			return after, true
		}
	}
	value, ok := strings.CutPrefix(args, "(")
	if !ok {
		return "", false
	}
	end := x.indexAny(value, ")")
	if end < 0 {
		return "", false
	}
	if colors, always := strings.CutPrefix(value[:end], "always,"); always {
		sequence, ok := escapeSequence(colors)
		if !ok {
			x.fail(&FatalError{Reason: fmt.Sprintf("unknown colour %.40q", colors)})
		}
		out.add(sequence)
	}
	return value[end+1:], true
}

// attributes maps text attributes to the codes that turn them on and off.
var attributes = map[string]struct{ on, off int }{
	"bold": {1, 22}, "dim": {2, 22}, "italic": {3, 23}, "ul": {4, 24},
	"blink": {5, 25}, "reverse": {7, 27}, "strike": {9, 29},
}

// colorNames are in the order of their numbers.
var colorNames = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

// Codes of colours in ECMA-48, and terminals' extensions.
const (
	foreground   = 30
	extended     = 38
	defaultColor = 39
	bright       = 90
	toBackground = 10 // offset from a foreground's code
)

// escapeSequence parses a colour as in git-config(1): attributes, at most two colours, the second
// of which is the background, and "reset", in any order.
func escapeSequence(value string) (sequence string, ok bool) {
	var codes, colors []string
	var numbers []int
	shades := 0
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(spaces, r) }) {
		if message.FoldCase(word) == "reset" {
			codes = []string{""} // an empty code resets
			continue
		}
		if number, ok := attributeCode(word); ok {
			numbers = append(numbers, number)
			continue
		}
		code, ok := colorCode(word, shades*toBackground)
		if !ok || shades == 2 {
			return "", false
		}
		if code != "" {
			colors = append(colors, code)
		}
		shades++
	}
	slices.Sort(numbers)
	for _, number := range slices.Compact(numbers) {
		codes = append(codes, strconv.Itoa(number))
	}
	codes = append(codes, colors...)
	if len(codes) == 0 {
		return "", true
	}
	return "\x1b[" + strings.Join(codes, ";") + "m", true
}

// colorCode returns the code of a foreground colour, or of a background colour with that offset; ""
// for the normal one.
func colorCode(word string, offset int) (code string, ok bool) {
	name, isBright := strings.CutPrefix(message.FoldCase(word), "bright")
	base := offset + foreground
	if isBright {
		base = offset + bright
	}
	if i := slices.Index(colorNames, name); i >= 0 {
		return strconv.Itoa(base + i), true
	}
	if digits, ok := strings.CutPrefix(word, "#"); ok {
		rgb, err := hex.DecodeString(digits)
		if err != nil || len(rgb) != 3 {
			return "", false
		}
		return fmt.Sprintf("%d;2;%d;%d;%d", offset+extended, rgb[0], rgb[1], rgb[2]), true
	}
	number, err := strconv.Atoi(word)
	switch colors := len(colorNames); {
	case err != nil && !isBright:
		return map[string]string{"default": strconv.Itoa(offset + defaultColor)}[name],
			name == "normal" || name == "default"
	case err != nil || number < -1 || number > 255:
		return "", false
	case number == -1:
		return "", true
	case number < colors:
		return strconv.Itoa(offset + foreground + number), true
	case number < 2*colors:
		return strconv.Itoa(offset + bright + number - colors), true
	default:
		return fmt.Sprintf("%d;5;%d", offset+extended, number), true
	}
}

func attributeCode(word string) (code int, ok bool) {
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
