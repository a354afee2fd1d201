package tools

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

// parameters are a tool's arguments in order. Each is bound to a variable, whose initial value is
// the default.
type parameters struct {
	list  []*parameter
	given map[string]any // the arguments of a call, by the names that they have here
	notes []string       // which names were taken for these
}

type parameter struct {
	name     string
	schema   *jsonschema.Schema
	required bool
	// hidden keeps an argument out of the schema, which every request of an agent pays for. Agents
	// may know the argument from other servers.
	hidden bool
	// set stores a JSON value that is not null. It returns what is wrong with it, as the rest of a
	// sentence.
	set func(value any) (problem string)
}

func (p *parameters) add(name, description, kind string, preset any, set func(any) string) *parameter {
	q := &parameter{name: name, schema: &jsonschema.Schema{Type: kind, Description: description}, set: set}
	if preset != nil {
		q.schema.Default = json.RawMessage(fmt.Sprint(preset))
	}
	p.list = append(p.list, q)
	return q
}

// text adds a string.
func (p *parameters) text(to *string, name, description string) *parameter {
	return p.add(name, description, "string", nil, func(value any) string {
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

// choice adds a string from a list of choices. An empty default means none.
func (p *parameters) choice(to *string, name, description string, choices ...string) {
	var preset any
	if *to != "" {
		preset = strconv.Quote(*to)
	}
	q := p.add(name, description, "string", preset, func(value any) string {
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
}

// number adds an integer. A string is accepted, because some agents write one. A default below low
// means none, and a high of math.MaxInt32 is not shown to agents.
func (p *parameters) number(to *int, name, description string, low, high int) *parameter {
	var preset any
	if *to >= low {
		preset = *to
	}
	q := p.add(name, description, "integer", preset, func(value any) string {
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

// flag adds a boolean, false by default.
func (p *parameters) flag(to *bool, name, description string) *parameter {
	return p.add(name, description, "boolean", nil, func(value any) string {
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

// texts adds a list of strings; a single string is accepted as well.
func (p *parameters) texts(to *[]string, name, description string) {
	q := p.add(name, description, "array", nil, func(value any) string {
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

// schema returns the JSON schema of the arguments.
func (p *parameters) schema() *jsonschema.Schema {
	schema := &jsonschema.Schema{
		Type: "object", Properties: make(map[string]*jsonschema.Schema),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, q := range p.list {
		if q.hidden {
			continue
		}
		schema.Properties[q.name] = q.schema
		schema.PropertyOrder = append(schema.PropertyOrder, q.name)
		if q.required {
			schema.Required = append(schema.Required, q.name)
		}
	}
	return schema
}

// read sets the variables to the arguments of a call. Null means omitted. The error is for the
// model: it names the argument, the mistake and the remedy.
func (p *parameters) read(arguments any) error {
	values, ok := arguments.(map[string]any)
	if !ok && arguments != nil {
		return say("The arguments must be an object with these members: %s.", strings.Join(p.names(), ", "))
	}
	p.given = p.rename(values)
	values = p.given
	if err := p.refuseUnknown(values); err != nil {
		return err
	}
	for _, q := range p.list {
		value := values[q.name]
		if value == nil {
			if q.required {
				return say("The argument %s is missing.%s", q.name, q.explain())
			}
			continue
		}
		if problem := q.set(value); problem != "" {
			return say("The argument %s %s.%s", q.name, problem, q.explain())
		}
	}
	return nil
}

// explain returns the argument's description as a sentence with a leading space.
func (q *parameter) explain() string {
	if q.schema.Description == "" {
		return ""
	}
	return " It is: " + q.schema.Description
}

func (p *parameters) names() []string {
	names := make([]string, len(p.list))
	for i, q := range p.list {
		names[i] = q.name
	}
	return names
}
