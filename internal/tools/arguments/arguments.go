// Package arguments reads the arguments of tools: strictly, with errors for the model, and with the
// names that other servers use for the same.
//
// # Order of use
//
// Declare the arguments on a [List], each bound to a variable with its default value. [List.Schema]
// describes them; [List.Read] sets the variables to the arguments of a call.
package arguments

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// maxTextBytes bounds a string argument: Linux's longest path.
	maxTextBytes = 4096
	// maxListItems bounds a list argument, because each pathspec is compared with every entry of a
	// tree.
	maxListItems = 100
)

// List has a tool's arguments in order. Each is bound to a variable, whose initial value is the
// default.
type List struct {
	// Synonyms maps folded names of other servers' arguments ([spelling.Fold]) to names that may mean
	// the same here, with blanks between them.
	Synonyms map[string]string

	list []*Argument
	// Given are the arguments of the call that was read, by the names that they have here. Notes say
	// which other names were taken for these.
	Given map[string]any
	Notes []string
}

// Argument of a tool.
type Argument struct {
	Name     string
	Required bool
	// Hidden keeps an argument out of the schema, which every request of an agent pays for. Agents
	// may know the argument from other servers.
	Hidden bool
	schema *jsonschema.Schema
	flags  map[bool]string // see Flags
	// set stores a JSON value that is not null. It returns what is wrong with it, as the rest of a
	// sentence.
	set func(value any) (problem string)
}

// Add adds an argument of a type of JSON schema; a preset of nil means no default. set stores a
// value that is not null, and returns what is wrong with it as the rest of a sentence.
func (p *List) Add(name, description, kind string, preset any, set func(any) string) *Argument {
	q := &Argument{Name: name, schema: &jsonschema.Schema{Type: kind, Description: description}, set: set}
	if preset != nil {
		q.schema.Default = json.RawMessage(fmt.Sprint(preset))
	}
	p.list = append(p.list, q)
	return q
}

// Text adds a string.
func (p *List) Text(to *string, name, description string) *Argument {
	return p.Add(name, description, "string", nil, func(value any) string {
		text, problem := textOf(value)
		if problem == "" {
			*to = text
		}
		return problem
	})
}

func textOf(value any) (text, problem string) {
	text, ok := value.(string)
	switch {
	case !ok:
		return "", "must be a string"
	case len(text) > maxTextBytes:
		return "", fmt.Sprintf("is longer than %d bytes", maxTextBytes)
	case strings.Contains(text, "\x00"):
		return "", "has a NUL character; leave it out"
	}
	return text, ""
}

// Choice adds a string from a list of choices. An empty default means none.
func (p *List) Choice(to *string, name, description string, choices ...string) *Argument {
	var preset any
	if *to != "" {
		preset = strconv.Quote(*to)
	}
	q := p.Add(name, description, "string", preset, func(value any) string {
		text, ok := value.(string)
		if !ok || !slices.Contains(choices, text) {
			return "must be one of " + strings.Join(choices, ", ")
		}
		*to = text
		return ""
	})
	for _, c := range choices {
		q.schema.Enum = append(q.schema.Enum, c)
	}
	return q
}

// Flags names the choices that true and false stand for, where a synonym is a boolean.
func (q *Argument) Flags(yes, no string) { q.flags = map[bool]string{true: yes, false: no} }

// Number adds an integer. A string is accepted, because some agents write one. A default below low
// means none, and a high of math.MaxInt32 is not shown to agents.
func (p *List) Number(to *int, name, description string, low, high int) *Argument {
	var preset any
	if *to >= low {
		preset = *to
	}
	q := p.Add(name, description, "integer", preset, func(value any) string {
		n, ok := numberOf(value)
		switch inside := ok && n >= float64(low) && n <= float64(high); {
		case inside:
			*to = int(n)
			return ""
		case high == math.MaxInt32:
			return fmt.Sprintf("must be a whole number from %d", low)
		default:
			return fmt.Sprintf("must be a whole number from %d to %d", low, high)
		}
	})
	if top := float64(high); high != math.MaxInt32 {
		q.schema.Maximum = &top
	}
	return q
}

func numberOf(value any) (float64, bool) {
	n, ok := value.(float64)
	if text, isText := value.(string); isText {
		whole, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		n, ok = float64(whole), err == nil
	}
	return n, ok && n == math.Trunc(n)
}

// Flag adds a boolean, false by default.
func (p *List) Flag(to *bool, name, description string) *Argument {
	return p.Add(name, description, "boolean", nil, func(value any) string {
		switch value {
		case true, "true":
			*to = true
		case false, "false":
			*to = false
		default:
			return "must be true or false"
		}
		return ""
	})
}

// Texts adds a list of strings; a single string is accepted as well.
func (p *List) Texts(to *[]string, name, description string) {
	q := p.Add(name, description, "array", nil, func(value any) string {
		list, ok := value.([]any)
		if _, single := value.(string); single {
			list, ok = []any{value}, true
		}
		if !ok || len(list) > maxListItems {
			return fmt.Sprintf("must be a list of at most %d strings", maxListItems)
		}
		texts := make([]string, len(list))
		for i, item := range list {
			var problem string
			if texts[i], problem = textOf(item); problem != "" {
				return "has an item that " + problem
			}
		}
		*to = texts
		return ""
	})
	q.schema.Items = &jsonschema.Schema{Type: "string"}
}

// Objects adds a list of objects, whose members are strings. set gets the elements as they are.
func (p *List) Objects(name, description string, members []string, set func(elements []any) string) *Argument {
	q := p.Add(name, description, "array", nil, func(value any) string {
		elements, ok := value.([]any)
		if !ok {
			return "must be a list"
		}
		return set(elements)
	})
	element := &jsonschema.Schema{Type: "object", PropertyOrder: members}
	element.Properties = make(map[string]*jsonschema.Schema)
	for _, member := range members {
		element.Properties[member] = &jsonschema.Schema{Type: "string"}
	}
	q.schema.Items = element
	return q
}

// Schema returns the JSON schema of the arguments.
func (p *List) Schema() *jsonschema.Schema {
	schema := &jsonschema.Schema{
		Type: "object", Properties: make(map[string]*jsonschema.Schema),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, q := range p.list {
		if q.Hidden {
			continue
		}
		schema.Properties[q.Name] = q.schema
		schema.PropertyOrder = append(schema.PropertyOrder, q.Name)
		if q.Required {
			schema.Required = append(schema.Required, q.Name)
		}
	}
	return schema
}

// Read sets the variables to the arguments of a call. Null means omitted. Errors are
// [*Error]s: they name the argument, the mistake and the remedy.
func (p *List) Read(arguments any) error {
	values, ok := arguments.(map[string]any)
	if !ok && arguments != nil {
		return say("The arguments must be an object with these members: %s.", strings.Join(p.Names(), ", "))
	}
	p.Given = p.rename(values)
	values = p.Given
	if err := p.refuseUnknown(values); err != nil {
		return err
	}
	for _, q := range p.list {
		value := values[q.Name]
		if value == nil {
			if q.Required {
				return say("The argument %s is missing.%s", q.Name, q.explain())
			}
			continue
		}
		if problem := q.set(value); problem != "" {
			return say("The argument %s %s.%s", q.Name, problem, q.explain())
		}
	}
	return nil
}

// explain returns the argument's description as a sentence with a leading space.
func (q *Argument) explain() string {
	if q.schema.Description == "" {
		return ""
	}
	return " It is: " + q.schema.Description
}

// Names returns the names of all arguments, hidden ones too.
func (p *List) Names() []string {
	names := make([]string, len(p.list))
	for i, q := range p.list {
		names[i] = q.Name
	}
	return names
}

// Error is about the arguments of a call; its text is for the model.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

func say(format string, arguments ...any) error { return &Error{fmt.Sprintf(format, arguments...)} }
