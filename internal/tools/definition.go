package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/tools/arguments"
)

// metaMaxResult tells Claude Code how many characters of a result to show before it writes the rest
// to a file.
const metaMaxResult = "anthropic/maxResultSizeChars"

// maxShownChars leaves room for JSON escapes, which some clients count.
const maxShownChars = 2 * maxResultBytes

// textArguments are the arguments of tools that show texts of files.
var textArguments = []string{"start_line", "patch_line", "context_lines"}

type definition struct {
	name, title, description string
	// data is a value of the type of structuredContent; nil for a tool that returns only text.
	data any
	// bind returns fresh arguments, and a function that reads arguments into them and runs the
	// tool.
	bind func() (*arguments.List, call)
}

type call func(ctx context.Context, s *service, given any) (*result, error)

// argumentsOf is a pointer to a struct of arguments, which defines them.
type argumentsOf[A any] interface {
	*A
	define(p *arguments.List)
}

// tool returns a row of the table. A is the type of run's arguments. Its methods readCursor and
// check, if it has them, validate the arguments before anything is opened.
func tool[A any, P argumentsOf[A]](
	name, title, description string, data any, run func(*service, context.Context, A) (*result, error),
) definition {
	return definition{name, title, description, data, func() (*arguments.List, call) {
		a, p := new(A), &arguments.List{Synonyms: synonyms}
		P(a).define(p)
		return p, func(ctx context.Context, s *service, given any) (*result, error) {
			if err := p.Read(given); err != nil {
				return nil, err
			}
			if paged, ok := any(a).(interface {
				readCursor(tool string, given map[string]any) error
			}); ok {
				if err := paged.readCursor(name, p.Given); err != nil {
					return nil, err
				}
			}
			if checked, ok := any(a).(interface{ check() error }); ok {
				if err := checked.check(); err != nil {
					return nil, err
				}
			}
			r, err := run(s, ctx, *a)
			if r != nil {
				r.notes = append(p.Notes, r.notes...)
			}
			return r, err
		}
	}}
}

// describe returns the tool as MCP lists it. Every tool is read-only and contacts no other server;
// other annotations have no meaning then.
func (d definition) describe() mcp.Tool {
	yes, no := true, false
	declared, _ := d.bind()
	described := mcp.Tool{
		Name: d.name, Title: d.title, Description: d.description, RawInputSchema: marshal(declared.Schema()),
		Annotations: mcp.ToolAnnotation{ReadOnlyHint: &yes, DestructiveHint: &no, OpenWorldHint: &no},
	}
	if canBeCut(declared) {
		described.Meta = mcp.NewMetaFromMap(map[string]any{metaMaxResult: maxShownChars})
	}
	if d.data != nil {
		described.RawOutputSchema = marshal(schemaOf(d.data))
	}
	return described
}

// canBeCut reports whether a tool with these arguments shows content that may fill a result.
func canBeCut(declared *arguments.List) bool {
	names := declared.Names()
	return slices.ContainsFunc(textArguments, func(name string) bool { return slices.Contains(names, name) })
}

// handler runs the tool. A failure is a result, which the model reads and can act on. A busy server
// is a protocol error instead, so that the client waits rather than the model.
func (d definition) handler(s *service) Handler {
	return func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if memory := memoryOf(d.name, call.GetArguments()); memory > 0 {
			grant, err := s.Limits.Call(ctx, call.GetString("repo", ""), memory)
			if err != nil {
				return nil, err
			}
			defer grant.Release()
		}
		_, run := d.bind()
		r, err := run(ctx, s, call.Params.Arguments)
		if limits.RefusalOf(err) != nil {
			return nil, err
		}
		if err != nil {
			return s.failed(ctx, d.name, err), nil
		}
		return r.render(), nil
	}
}

// schemaOf infers the schema of data from its type. Properties have the order of the fields.
func schemaOf(data any) *jsonschema.Schema {
	schema := must(jsonschema.ForType(reflect.TypeOf(data), &jsonschema.ForOptions{}))
	neverNull(schema)
	return schema
}

// neverNull removes "null" from the types of lists. The inference adds it because a slice can be
// nil; results have no nil slices.
func neverNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	if s.Items != nil {
		neverNull(s.Items)
	}
	for _, property := range s.Properties {
		neverNull(property)
	}
}

func marshal(schema *jsonschema.Schema) json.RawMessage { return must(json.Marshal(schema)) }

// must panics if a tool cannot be described; a test describes all tools.
func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("tools: internal error: a tool cannot be described: %v", err))
	}
	return value
}
