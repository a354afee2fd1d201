package clientconfig

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFormat is TOML 1.0, with one table for a server. A server in an inline table or by dotted keys
// is not edited.
var tomlFormat = format{name: "toml", insert: insertTOML, remove: removeTOML, decode: decodeTOML}

func decodeTOML(text []byte) (all map[string]any, err error) {
	return all, toml.Unmarshal(text, &all)
}

// expression is the header of a table or a key with its value.
type expression struct {
	path     []string
	header   bool
	from, to int // without blanks and comments around it
}

// expressions lists what a text has.
func expressions(text []byte) ([]expression, error) {
	p := unstable.Parser{KeepComments: true}
	p.Reset(text)
	var list []expression
	var table []string
	open := false // whether the last one has no end yet
	close := func(at int) {
		if open {
			last := &list[len(list)-1]
			last.to = last.from + len(bytes.TrimRight(text[last.from:at], " \t\r\n"))
			open = false
		}
	}
	for p.NextExpression() {
		node := p.Expression()
		if node.Kind == unstable.Comment {
			close(int(node.Raw.Offset))
			continue
		}
		var path []string
		from := -1
		for key := node.Key(); key.Next(); {
			if from < 0 {
				from = int(key.Node().Raw.Offset)
			}
			path = append(path, string(key.Node().Data))
		}
		header := node.Kind != unstable.KeyValue
		if header {
			from = bytes.LastIndexByte(text[:from], '\n') + 1
			from += bytes.IndexByte(text[from:], '[')
			table = path
		} else {
			path = slices.Concat(table, path)
		}
		close(from)
		list, open = append(list, expression{path: path, header: header, from: from}), true
		if behind := node.Next(); behind.Valid() && behind.Kind == unstable.Comment {
			close(int(behind.Raw.Offset))
		}
	}
	close(len(text))
	return list, p.Error()
}

// insertTOML implements format.insert for the table of a server.
func insertTOML(text []byte, path []string, members []member) ([]byte, error) {
	list, err := expressions(text)
	if err != nil {
		return nil, err
	}
	end := newline(text)
	var lines strings.Builder
	for _, m := range members {
		lines.WriteString(m.name + " = " + encodeTOML(m.value) + end)
	}
	for _, e := range list {
		if e.header && slices.Equal(e.path, path) {
			at := lineEnd(text, e.to)
			if at == len(text) && !bytes.HasSuffix(text, []byte("\n")) {
				return spliced(text, at, at, end+lines.String()), nil
			}
			return spliced(text, at, at, lines.String()), nil
		}
	}
	header := "[" + strings.Join(path, ".") + "]" + end
	switch {
	case len(text) == 0:
	case bytes.HasSuffix(text, []byte("\n")):
		header = end + header
	default:
		header = end + end + header
	}
	return spliced(text, len(text), len(text), header+lines.String()), nil
}

// removeTOML implements format.remove.
func removeTOML(text []byte, path []string) ([]byte, error) {
	list, err := expressions(text)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(list) { // the offsets of earlier ones stay
		if len(e.path) >= len(path) && slices.Equal(e.path[:len(path)], path) {
			text = cutPart(text, e.from, e.to)
		}
	}
	return text, nil
}

// encodeTOML returns a value of the clients that read TOML. JSON's strings are TOML's basic ones.
func encodeTOML(value any) string {
	if words, ok := value.([]string); ok {
		return encodeJSON(words, indents{})
	}
	return encode(value)
}
