package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/repomcp/repomcp/internal/tools/spelling"
)

const (
	// maxTextBytes bounds a text argument: the longest path of Linux.
	maxTextBytes = 4096
	// maxListItems bounds a list argument, whose pathspecs are each compared
	// with every entry of a tree.
	maxListItems = 100
)

// parameters are the arguments that a tool has, in order. Each is bound to a
// variable, whose value beforehand is its default.
type parameters struct{ list []*parameter }

type parameter struct {
	name     string
	schema   *jsonschema.Schema
	required bool
	// hidden leaves an argument out of the schema, which every request of an agent pays
	// for. Agents may know it from other servers.
	hidden bool
	// set takes a value of JSON that is not null, and says what is wrong with
	// it, as the rest of a sentence.
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

// text adds a text of one line or more.
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
		return "", "must be a text"
	case len(text) > maxTextBytes:
		return "", fmt.Sprintf("is longer than %d bytes", maxTextBytes)
	case strings.Contains(text, "\x00"):
		return "", "has a NUL character; leave it out"
	}
	return text, ""
}

// choice adds a text that is one of several. An empty default is none.
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

// number adds a whole number, which may be a text: some agents write one. A default
// below low is none, and agents are not told of a high of math.MaxInt32.
func (p *parameters) number(to *int, name, description string, low, high int) {
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
}

func numberOf(value any) (float64, bool) {
	n, ok := value.(float64)
	if text, isText := value.(string); isText {
		whole, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		n, ok = float64(whole), err == nil
	}
	return n, ok && n == math.Trunc(n)
}

// flag adds a yes or no, which is no by default.
func (p *parameters) flag(to *bool, name, description string) {
	p.add(name, description, "boolean", nil, func(value any) string {
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

// texts adds a list of texts; a single one may stand for itself.
func (p *parameters) texts(to *[]string, name, description string) {
	q := p.add(name, description, "array", nil, func(value any) string {
		list, ok := value.([]any)
		if _, single := value.(string); single {
			list, ok = []any{value}, true
		}
		if !ok || len(list) > maxListItems {
			return fmt.Sprintf("must be a list of at most %d texts", maxListItems)
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

// schema describes the arguments to clients.
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

// read sets the variables to the arguments of a call. An argument that is null counts
// as left out. The error is for the model: it names the argument, what is wrong and
// what to do.
func (p *parameters) read(arguments any) error {
	values, ok := arguments.(map[string]any)
	if !ok && arguments != nil {
		return say("The arguments must be an object with these members: %s.", strings.Join(p.names(), ", "))
	}
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

// explain returns what an argument is, as a sentence with a blank before it.
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

// refuseUnknown fails for a misspelt name: to ignore it would answer another question
// than the one that was asked.
func (p *parameters) refuseUnknown(values map[string]any) error {
	known := p.names()
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(values)),
		func(name string) bool { return slices.Contains(known, name) })
	if len(unknown) == 0 {
		return nil
	}
	name := clip(unknown[0])
	meant := slices.DeleteFunc(strings.Fields(synonyms[spelling.Fold(name)]),
		func(name string) bool { return !slices.Contains(known, name) })
	if len(meant) == 0 {
		meant = spelling.Closest(name, known, 1)
	}
	return say("There is no argument %s.%s This tool has: %s.", quote(name), didYouMean(meant),
		strings.Join(known, ", "))
}

// synonyms are names that other tools have for arguments, folded, with those that may mean
// the same here.
var synonyms = map[string]string{
	"q": "query grep", "text": "query grep", "search": "query grep", "keyword": "query grep", "message": "grep",
	"pattern": "glob query grep", "regex": "query grep", "regexp": "query grep",
	"limit": "end_line perPage", "count": "perPage", "max": "perPage", "maxresults": "perPage", "first": "perPage",
	"offset": "start_line page cursor", "page": "cursor", "after": "cursor since", "before": "until",
	"line": "start_line", "lines": "start_line end_line", "linerange": "start_line end_line",
	"viewrange": "start_line end_line", "range": "start_line base", "from": "base since", "to": "head until",
	"basehead": "base head", "startdate": "since", "enddate": "until",
	"file": "path paths", "filename": "path paths", "filepath": "path paths", "dir": "path paths",
	"directory": "path paths", "folder": "path paths", "path": "paths", "paths": "path",
	"repository": "repo", "reponame": "repo", "project": "repo", "org": "repo", "user": "repo",
	"name": "tag query repo", "branch": "ref head", "revision": "ref head", "rev": "ref head", "tag": "ref head",
	"commit": "ref head", "commitsha": "ref head", "commitid": "ref head", "hash": "ref head",
	"depth": "recursive", "maxdepth": "recursive", "diff": "detail", "includediff": "detail", "patch": "detail",
	"stat": "detail", "ignorecase": "case case_sensitive",
}
