package clientconfig

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlFormat is YAML in block style, as goose writes it. An object in flow style is not edited,
// except for an empty one.
var yamlFormat = format{name: "yaml", insert: insertYAML, remove: removeYAML, decode: decodeYAML}

func decodeYAML(text []byte) (all map[string]any, err error) {
	return all, yaml.Unmarshal(text, &all)
}

// place is where a text has a member.
type place struct {
	key, value *yaml.Node
	parent     *yaml.Node
}

// find returns the place of a member, or of the deepest one on the path that there is, with the rest
// of the path.
func find(text []byte, path []string) (at place, rest []string, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return at, nil, err
	}
	if len(document.Content) == 0 {
		return at, path, nil
	}
	at.value = document.Content[0]
	for i, name := range path {
		inner, ok := memberOf(at.value, name)
		if !ok {
			return at, path[i:], nil
		}
		at = inner
	}
	return at, nil, nil
}

func memberOf(object *yaml.Node, name string) (place, bool) {
	if object.Kind != yaml.MappingNode {
		return place{}, false
	}
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == name {
			return place{object.Content[i], object.Content[i+1], object}, true
		}
	}
	return place{}, false
}

// insertYAML implements format.insert.
func insertYAML(text []byte, path []string, members []member) ([]byte, error) {
	at, rest, err := find(text, path)
	if err != nil {
		return nil, err
	}
	for i := len(rest) - 1; i >= 0; i-- {
		members = []member{{rest[i], members}}
	}
	end := newline(text)
	if at.key == nil { // at the end of the file
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			text = spliced(text, len(text), len(text), end)
		}
		return spliced(text, len(text), len(text), encodeYAML(members, "", end)), nil
	}
	margin := strings.Repeat(" ", at.key.Column-1) + defaultIndent
	switch {
	case at.value.Kind == yaml.MappingNode && at.value.Style&yaml.FlowStyle == 0:
		margin = strings.Repeat(" ", at.value.Content[0].Column-1)
	case at.value.Kind == yaml.MappingNode && len(at.value.Content) == 0: // {}
		from := offsetOf(text, at.value)
		close := bytes.IndexByte(text[from:], '}')
		text = cutPart(text, len(bytes.TrimRight(text[:from], " ")), from+close+1)
	case at.value.Tag != "!!null" || at.value.Value != "":
		return nil, errNoObject
	}
	line := lineEnd(text, offsetOf(text, at.key))
	if !bytes.HasSuffix(text[:line], []byte("\n")) {
		text = spliced(text, line, line, end)
		line += len(end)
	}
	return spliced(text, line, line, encodeYAML(members, margin, end)), nil
}

// removeYAML implements format.remove.
func removeYAML(text []byte, path []string) ([]byte, error) {
	at, rest, err := find(text, path)
	if err != nil || len(rest) > 0 {
		return text, err
	}
	from := lineStart(text, offsetOf(text, at.key))
	to := memberEnd(text, lineEnd(text, from), at.key.Column-1)
	if len(at.parent.Content) == 2 { // nothing would be null
		margin := strings.Repeat(" ", at.key.Column-1)
		return spliced(text, from, to, margin+"{}"+newline(text)), nil
	}
	return spliced(text, from, to, ""), nil
}

// memberEnd returns the end of a member: the lines that are indented more than its key, and those of
// a list, which may be indented as much. Blank lines behind it belong to what follows.
func memberEnd(text []byte, at, margin int) int {
	end := at
	for at < len(text) {
		line := text[at:lineEnd(text, at)]
		at += len(line)
		content := bytes.TrimSpace(line)
		indent := len(marginOf(line))
		if len(content) == 0 {
			continue
		}
		isElement := content[0] == '-' && (len(content) == 1 || content[1] == ' ')
		if indent < margin || indent == margin && !isElement {
			break
		}
		end = at
	}
	return end
}

// offsetOf returns the offset of a node. Columns count bytes as far as blanks and ASCII go before it.
func offsetOf(text []byte, node *yaml.Node) int {
	at := 0
	for range node.Line - 1 {
		at = lineEnd(text, at)
	}
	return min(at+node.Column-1, len(text))
}

// encodeYAML returns the lines of members. JSON's strings are YAML's double-quoted ones.
func encodeYAML(members []member, margin, end string) string {
	var b strings.Builder
	for _, m := range members {
		b.WriteString(margin + m.name + ":")
		switch v := m.value.(type) {
		case []member:
			b.WriteString(end + encodeYAML(v, margin+defaultIndent, end))
		case []string:
			b.WriteString(end)
			for _, word := range v {
				b.WriteString(margin + defaultIndent + "- " + encode(word) + end)
			}
		default:
			b.WriteString(" " + encode(v) + end)
		}
	}
	return b.String()
}
