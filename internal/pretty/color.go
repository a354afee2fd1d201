package pretty

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/message"
)

// color is %C(…), and %C with one of the basic colours: nothing, as colours are
// for terminals, unless they are asked for with %C(always,…).
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

// attributes are those of text: the codes that turn them on and off.
var attributes = map[string]struct{ on, off int }{
	"bold": {1, 22}, "dim": {2, 22}, "italic": {3, 23}, "ul": {4, 24},
	"blink": {5, 25}, "reverse": {7, 27}, "strike": {9, 29},
}

// colorNames are the names in the order of their numbers.
var colorNames = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

// Codes of colours in ECMA-48, and what terminals made of it.
const (
	foreground   = 30
	extended     = 38
	defaultColor = 39
	bright       = 90
	toBackground = 10 // from a foreground's code
)

// escapeSequence reads a colour as git-config(1) has it: attributes, at most two
// colours, of which the second is the background, and "reset", in any order.
func escapeSequence(value string) (sequence string, ok bool) {
	var codes, colors []string
	var numbers []int
	shades := 0
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(spaces, r) }) {
		if message.FoldCase(word) == "reset" {
			codes = []string{""} // an empty code is that of a reset
			continue
		}
		if number, ok := attributeCode(word); ok {
			numbers = append(numbers, number)
			continue
		}
		color, ok := parseColor(word)
		if !ok || shades == 2 {
			return "", false
		}
		if color.code != 0 {
			colors = append(colors, fmt.Sprint(color.code+shades*toBackground)+color.more)
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

// color is the code of a foreground, 0 for the normal one, and what comes after
// it.
type color struct {
	code int
	more string
}

func parseColor(word string) (c color, ok bool) {
	name, isBright := strings.CutPrefix(message.FoldCase(word), "bright")
	if i := slices.Index(colorNames, name); i >= 0 {
		return plainColor(i, isBright), true
	}
	if digits, ok := strings.CutPrefix(word, "#"); ok {
		rgb, err := hex.DecodeString(digits)
		if err != nil || len(rgb) != 3 {
			return color{}, false
		}
		return color{extended, fmt.Sprintf(";2;%d;%d;%d", rgb[0], rgb[1], rgb[2])}, true
	}
	number, err := strconv.Atoi(word)
	switch {
	case name == "normal" && !isBright, err == nil && number == -1:
		return color{}, true
	case name == "default":
		return color{code: defaultColor}, !isBright
	case err != nil || number < 0 || number > 255:
		return color{}, false
	case number < 2*len(colorNames):
		return plainColor(number%len(colorNames), number >= len(colorNames)), true
	default:
		return color{extended, fmt.Sprintf(";5;%d", number)}, true
	}
}

func plainColor(number int, isBright bool) color {
	if isBright {
		return color{code: bright + number}
	}
	return color{code: foreground + number}
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
