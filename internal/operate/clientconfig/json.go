package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat is JSON with comments and trailing commas, as editors have it. What is inserted has
// neither, since some clients read strict JSON.
var jsonFormat = format{name: "json", insert: insertJSON, remove: removeJSON, decode: decodeJSON}

const (
	// keyInputs is VS Code's list of values that it prompts for.
	keyInputs     = "inputs"
	defaultIndent = "  "
)

var errNoObject = errors.New("it has something else in the place of an object")

func decodeJSON(text []byte) (all map[string]any, err error) {
	standard, err := hujson.Standardize(bytes.Clone(text)) // it blanks comments where they are
	if err == nil {
		err = json.Unmarshal(standard, &all)
	}
	return all, err
}

// insertJSON implements format.insert.
func insertJSON(text []byte, path []string, members []member) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	at := root.Find(pointer(path))
	for at == nil && len(path) > 0 {
		members = []member{{path[len(path)-1], members}}
		path = path[:len(path)-1]
		at = root.Find(pointer(path))
	}
	object, ok := at.Value.(*hujson.Object)
	if !ok {
		return nil, errNoObject
	}
	indent := indentation(text, at.StartOffset)
	lines := make([]string, len(members))
	for i, m := range members {
		lines[i] = indent.inner + encode(m.name) + ": " + encodeJSON(m.value, indent)
	}
	return insertFirst(text, at, lines, len(object.Members) == 0, indent), nil
}

// insertInput adds an element to VS Code's inputs, unless there is one with its id.
func insertInput(text []byte, prompt []member) ([]byte, error) {
	all, err := decodeJSON(text)
	if err != nil {
		return nil, err
	}
	inputs, _ := all[keyInputs].([]any)
	if hasInput(inputs, prompt) {
		return text, nil
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	at := root.Find(pointer([]string{keyInputs}))
	if at == nil {
		return insertJSON(text, nil, []member{{keyInputs, []any{prompt}}})
	}
	list, ok := at.Value.(*hujson.Array)
	if !ok {
		return nil, errNoObject
	}
	indent := indentation(text, at.StartOffset)
	line := indent.inner + encodeJSON(prompt, indent)
	return insertFirst(text, at, []string{line}, len(list.Elements) == 0, indent), nil
}

// hasInput reports whether a list has an element with the id of a prompt.
func hasInput(inputs []any, prompt []member) bool {
	id, _ := decoded(prompt).(map[string]any)["id"].(string)
	return slices.ContainsFunc(inputs, func(input any) bool { return isInput(input, id) })
}

// isInput reports whether a decoded element is the input with an id.
func isInput(input any, id string) bool {
	object, ok := input.(map[string]any)
	return ok && object["id"] == id
}

// insertFirst inserts lines at the beginning of an object or array. A comment behind the bracket
// stays there.
func insertFirst(text []byte, at *hujson.Value, lines []string, empty bool, indent indents) []byte {
	end := newline(text)
	insertion := strings.ReplaceAll(strings.Join(lines, ",\n"), "\n", end)
	from, to := at.StartOffset+1, lineEnd(text, at.StartOffset)
	rest := bytes.TrimSpace(text[from:min(to, at.EndOffset)])
	if to < at.EndOffset && (len(rest) == 0 || bytes.HasPrefix(rest, []byte("//"))) { // more lines follow
		if !empty {
			insertion += ","
		}
		return spliced(text, to, to, insertion+end)
	}
	if empty {
		return spliced(text, from, at.EndOffset-1, end+insertion+end+indent.outer+string(text[from:at.EndOffset-1]))
	}
	return spliced(text, from, from, end+insertion+","+end+indent.inner)
}

// removeJSON implements format.remove.
func removeJSON(text []byte, path []string) ([]byte, error) {
	root, err := hujson.Parse(text)
	if err != nil {
		return text, nil //nolint:nilerr // an empty file has no members
	}
	parent := root.Find(pointer(path[:len(path)-1]))
	if parent == nil {
		return text, nil
	}
	object, ok := parent.Value.(*hujson.Object)
	if !ok {
		return text, nil
	}
	items, found := make([]item, len(object.Members)), -1
	for i, m := range object.Members {
		items[i] = itemOf(m.Name.StartOffset, &m.Value)
		if name, ok := m.Name.Value.(hujson.Literal); ok && name.String() == path[len(path)-1] && found < 0 {
			found = i
		}
	}
	return cutItem(text, items, found), nil
}

// removeInput removes the element with an id from VS Code's inputs.
func removeInput(text []byte, id string) ([]byte, error) {
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	at := root.Find(pointer([]string{keyInputs}))
	if at == nil {
		return text, nil
	}
	list, ok := at.Value.(*hujson.Array)
	if !ok {
		return nil, errNoObject
	}
	items, found := make([]item, len(list.Elements)), -1
	for i := range list.Elements {
		element := &list.Elements[i]
		items[i] = itemOf(element.StartOffset, element)
		if member := element.Find("/id"); member != nil {
			if name, ok := member.Value.(hujson.Literal); ok && name.String() == id && found < 0 {
				found = i
			}
		}
	}
	return cutItem(text, items, found), nil
}

// item is the place of a member or an element. The comma behind it, if there is one, is at comma.
type item struct {
	from, to, comma int
	ownLine         bool // of the comma
}

func itemOf(from int, value *hujson.Value) item {
	return item{from, value.EndOffset, value.EndOffset + len(value.AfterExtra),
		bytes.ContainsRune(value.AfterExtra, '\n')}
}

// cutItem removes an item, and the comma that is too many then. None is removed for -1.
func cutItem(text []byte, items []item, i int) []byte {
	if i < 0 {
		return text
	}
	own := items[i]
	if text[own.comma] == ',' {
		if own.ownLine {
			return cutPart(spliced(text, own.comma, own.comma+1, ""), own.from, own.to)
		}
		return cutPart(text, own.from, own.comma+1)
	}
	text = cutPart(text, own.from, own.to)
	if i > 0 {
		comma := items[i-1].comma
		text = spliced(text, comma, comma+1, "")
	}
	return text
}

// pointer returns a JSON pointer (RFC 6901).
func pointer(path []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + escape.Replace(name))
	}
	return b.String()
}

// indents are the indentations around and inside of an object, and their difference.
type indents struct{ outer, inner, step string }

// deeper returns the indents of an object inside.
func (i indents) deeper() indents { return indents{i.inner, i.inner + i.step, i.step} }

// indentation returns the indents of the object that begins at an offset.
func indentation(text []byte, at int) indents {
	step := defaultIndent
	for line := range bytes.Lines(text) { // the first line inside of the file's object tells
		if margin := marginOf(line); margin != "" && len(bytes.TrimSpace(line)) > 0 {
			step = margin
			break
		}
	}
	outer := marginOf(text[lineStart(text, at):])
	return indents{outer, outer + step, step}
}

// marginOf returns the blanks at the beginning of a line.
func marginOf(line []byte) string {
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// encodeJSON returns a value that begins in a line of an object with these indents.
func encodeJSON(value any, indent indents) string {
	switch v := value.(type) {
	case []member:
		inside := indent.deeper()
		lines := make([]string, len(v))
		for i, m := range v {
			lines[i] = inside.inner + encode(m.name) + ": " + encodeJSON(m.value, inside)
		}
		return "{\n" + strings.Join(lines, ",\n") + "\n" + inside.outer + "}"
	case []any:
		inside := indent.deeper()
		lines := make([]string, len(v))
		for i, element := range v {
			lines[i] = inside.inner + encodeJSON(element, inside)
		}
		return "[\n" + strings.Join(lines, ",\n") + "\n" + inside.outer + "]"
	case []string:
		words := make([]string, len(v))
		for i, word := range v {
			words[i] = encode(word)
		}
		return "[" + strings.Join(words, ", ") + "]"
	default:
		return encode(v)
	}
}

// encode returns a string, a list of strings or a bool as JSON, which TOML and YAML read as well.
func encode(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil { // none of these values fails
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
