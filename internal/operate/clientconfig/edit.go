package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// format is a syntax of configuration files. The functions splice: what they do not insert or remove
// stays byte for byte.
type format struct {
	name string // also of blocks in Markdown
	// insert puts members at the beginning of the object at a path, and makes the object if it is
	// missing.
	insert func(text []byte, path []string, members []member) ([]byte, error)
	// remove takes out the member at a path, if there is one.
	remove func(text []byte, path []string) ([]byte, error)
	decode func(text []byte) (map[string]any, error)
}

// ErrForm is wrapped by errors about a file that cannot be edited safely.
var ErrForm = errors.New("the file is not in a form that can be changed safely")

// Example returns a file that configures the client for a server alone.
func (c *Client) Example(s Server) string {
	text, err := c.Add(nil, s)
	if err != nil { // the tests make one for every client
		return ""
	}
	return string(text)
}

// Add returns the content of a file with an entry for the server. The content is the given one if
// the entry is there already.
func (c *Client) Add(content []byte, s Server) ([]byte, error) {
	return c.edit(content, s.Name, c.entry(s), c.prompt(s))
}

// Remove returns the content of a file without the entry of a server. The content is the given one
// if there is no entry.
func (c *Client) Remove(content []byte, name string) ([]byte, error) {
	return c.edit(content, name, nil, nil)
}

// Others reports whether a file has anything but the entry of a server.
func (c *Client) Others(content []byte, name string) (bool, error) {
	all, err := c.decode(content)
	if err != nil {
		return false, err
	}
	c.change(all, name, nil, nil, c.soleInput(all, name))
	c.dropEmpty(all)
	return len(all) > 0 || hasComment(content), nil
}

// hasComment errs on the side of a comment: addresses contain one of the marks.
func hasComment(content []byte) bool {
	return bytes.ContainsRune(content, '#') || bytes.Contains(content, []byte("/*")) ||
		bytes.Contains(bytes.ReplaceAll(content, []byte("://"), nil), []byte("//"))
}

// edit replaces the entry of a server. No entry means none.
func (c *Client) edit(content []byte, name string, entry, prompt []member) ([]byte, error) {
	mark, text := cutByteOrderMark(content)
	before, err := c.decode(text)
	if err != nil {
		return nil, err
	}
	wanted, err := c.decode(text)
	if err != nil {
		return nil, err
	}
	unused := c.soleInput(before, name)
	if prompt != nil && hasInput([]any{map[string]any{"id": unused}}, prompt) {
		unused = "" // it stays as the user may have changed it
	}
	c.change(wanted, name, entry, prompt, unused)
	if reflect.DeepEqual(before, wanted) {
		return content, nil
	}
	edited, err := c.splice(text, name, entry, prompt, unused)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	after, err := c.decode(edited)
	c.dropEmpty(after)
	if c.dropEmpty(wanted); err != nil || !reflect.DeepEqual(after, wanted) {
		return nil, fmt.Errorf("%w: it has %s.%s in a form that is rare", ErrForm, c.key, name)
	}
	return append(slices.Clone(mark), edited...), nil
}

// splice makes the change in the text.
func (c *Client) splice(text []byte, name string, entry, prompt []member, unused string) (_ []byte, err error) {
	path := []string{c.key, name}
	if entry == nil {
		text, err = c.format.remove(text, path)
	} else {
		for _, owned := range c.owned(entry) {
			if err == nil {
				text, err = c.format.remove(text, append(slices.Clone(path), owned))
			}
		}
		if err == nil {
			text, err = c.format.insert(text, path, entry)
		}
	}
	if err == nil && unused != "" {
		text, err = removeInput(text, unused)
	}
	if err == nil && prompt != nil {
		text, err = insertInput(text, prompt)
	}
	return text, err
}

// change makes the change in decoded values, to compare the text with.
func (c *Client) change(all map[string]any, name string, entry, prompt []member, unused string) {
	servers := objectIn(all, c.key)
	if inputs, ok := all[keyInputs].([]any); ok && unused != "" {
		all[keyInputs] = slices.DeleteFunc(inputs, func(input any) bool { return isInput(input, unused) })
	}
	if entry == nil {
		delete(servers, name)
		return
	}
	if servers == nil {
		servers = make(map[string]any)
		all[c.key] = servers
	}
	own := objectIn(servers, name)
	if own == nil {
		own = make(map[string]any)
		servers[name] = own
	}
	for _, owned := range c.owned(entry) {
		delete(own, owned)
	}
	for _, m := range entry {
		own[m.name] = decoded(m.value)
	}
	if inputs, _ := all[keyInputs].([]any); prompt != nil && !hasInput(inputs, prompt) {
		all[keyInputs] = append([]any{decoded(prompt)}, inputs...)
	}
}

// inputReference matches a reference to an input in a configuration of VS Code.
var inputReference = regexp.MustCompile(`\$\{input:(\w+)\}`)

// soleInput returns the id of the input that only the entry of a server refers to, or "".
func (c *Client) soleInput(all map[string]any, name string) string {
	servers := objectIn(all, c.key)
	if !c.prompts || servers[name] == nil {
		return ""
	}
	own := inputReference.FindStringSubmatch(encode(servers[name]))
	if own == nil {
		return ""
	}
	others := maps.Clone(servers)
	delete(others, name)
	if strings.Contains(encode(others), own[0]) {
		return ""
	}
	return own[1]
}

// dropEmpty removes an object without servers: some formats have it, and some cannot.
func (c *Client) dropEmpty(all map[string]any) {
	if object := objectIn(all, c.key); all[c.key] == nil || object != nil && len(object) == 0 {
		delete(all, c.key)
	}
	if inputs, ok := all[keyInputs].([]any); ok && len(inputs) == 0 && c.prompts {
		delete(all, keyInputs)
	}
}

// objectIn returns an object that is a member, or nil.
func objectIn(all map[string]any, name string) map[string]any {
	object, _ := all[name].(map[string]any)
	return object
}

// decoded returns a value in the form that decoders give.
func decoded(value any) any {
	switch v := value.(type) {
	case []string:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = element
		}
		return list
	case []member:
		object := make(map[string]any, len(v))
		for _, m := range v {
			object[m.name] = decoded(m.value)
		}
		return object
	default:
		return v
	}
}

// decode returns the content of a file; an empty one is an object without members.
func (c *Client) decode(content []byte) (map[string]any, error) {
	_, text := cutByteOrderMark(content)
	if len(bytes.TrimSpace(text)) == 0 {
		return make(map[string]any), nil
	}
	all, err := c.format.decode(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not valid %s: %w", ErrForm, c.format.name, err)
	}
	if all == nil {
		all = make(map[string]any)
	}
	return all, nil
}

// cutByteOrderMark divides a mark, which editors of Windows write, from the text.
func cutByteOrderMark(content []byte) (mark, text []byte) {
	n := len(content) - len(bytes.TrimPrefix(content, []byte("\uFEFF")))
	return content[:n:n], content[n:]
}

// newline returns the end of lines in a text.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// spliced returns a text with a part of it replaced.
func spliced(text []byte, from, to int, insertion string) []byte {
	return slices.Concat(text[:from], []byte(insertion), text[to:])
}

// lineStart returns the offset of the line that has an offset in it.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns the offset behind the end of a line.
func lineEnd(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// cutPart removes a part, and the lines that it leaves blank.
func cutPart(text []byte, from, to int) []byte {
	start, end := lineStart(text, from), lineEnd(text, to)
	if to > from && text[to-1] == '\n' {
		end = to
	}
	if len(bytes.TrimSpace(text[start:from])) == 0 && len(bytes.TrimSpace(text[to:end])) == 0 {
		from, to = start, end
	}
	if from == start { // a comment behind it gets the line
		for to < end && (text[to] == ' ' || text[to] == '\t') {
			to++
		}
	}
	return spliced(text, from, to, "")
}
