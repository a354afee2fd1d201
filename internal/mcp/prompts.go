package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/resources"
)

// maxPromptArgument bounds an argument of a prompt, in bytes. It is a name or a line, and goes into
// the context of a model.
const maxPromptArgument = 1024

// PromptWriter writes a prompt for validated arguments.
type PromptWriter func(arguments map[string]string) *mcp.GetPromptResult

// AddPrompt offers a prompt to users. Call it before the first request.
func (s *Server) AddPrompt(prompt mcp.Prompt, write PromptWriter) {
	s.prompts = append(s.prompts, prompt)
	s.writers[prompt.Name] = write
}

// listPrompts answers prompts/list.
func (s *Server) listPrompts(_ context.Context, _ *Request, params mcp.PaginatedParams) (any, *Error) {
	if params.Cursor != "" {
		return nil, foreignCursor()
	}
	list := append([]mcp.Prompt{}, s.prompts...)
	slices.SortFunc(list, byName)
	return &mcp.ListPromptsResult{Prompts: list}, nil
}

// getPrompt answers prompts/get. It refuses arguments that the prompt does not declare, that are
// missing, or that are too long.
func (s *Server) getPrompt(_ context.Context, _ *Request, params mcp.GetPromptParams) (any, *Error) {
	for _, prompt := range s.prompts {
		if prompt.Name != params.Name {
			continue
		}
		if failure := checkArguments(prompt, params.Arguments); failure != nil {
			return nil, failure
		}
		return s.writers[prompt.Name](params.Arguments), nil
	}
	return nil, wrongMember("name", "the name of a prompt") // it is missing: checkName refuses unknown names
}

func checkArguments(prompt mcp.Prompt, given map[string]string) *Error {
	for _, argument := range prompt.Arguments {
		switch value := given[argument.Name]; {
		case argument.Required && value == "":
			return argumentError(argument.Name, "The argument %q of the prompt is required: "+
				"%s", argument.Name, argument.Description)
		case len(value) > maxPromptArgument:
			return argumentError(argument.Name, "The argument %q of the prompt has more than %d bytes. Give a name "+
				"or a line.", argument.Name, maxPromptArgument)
		}
	}
	for name := range given {
		if failure := checkArgument(prompt, name); failure != nil {
			return failure
		}
	}
	return nil
}

// checkArgument refuses an argument that a prompt does not have.
func checkArgument(prompt mcp.Prompt, name string) *Error {
	var names []string
	for _, argument := range prompt.Arguments {
		names = append(names, argument.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	return argumentError(resources.Clip(name), "The prompt has no argument %q. It has %q.", resources.Clip(name), names)
}

func argumentError(name, format string, values ...any) *Error {
	failure := &Error{Reason: ReasonParams, Message: fmt.Sprintf(format, values...)}
	return failure.With("argument", resources.Text(name))
}
