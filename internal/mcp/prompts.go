package mcp

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/resources"
)

// maxPromptArgument bounds an argument of a prompt, in bytes. It is a name or a
// line, and goes into the context of a model.
const maxPromptArgument = 1024

// addPrompt offers a prompt to users.
func (s *Server) addPrompt(prompt server.ServerPrompt) {
	s.prompts = append(s.prompts, prompt.Prompt)
	s.mcp.AddPrompt(prompt.Prompt, prompt.Handler)
}

func (s *Server) promptNames() []string {
	names := make([]string, len(s.prompts))
	for i, prompt := range s.prompts {
		names[i] = prompt.Name
	}
	return names
}

// getPrompt answers prompts/get, but for arguments that the prompt does not
// declare, that are missing, or that are too long: mcp-go passes on whatever
// there is.
func (s *Server) getPrompt(ctx context.Context, r *Request, params mcp.GetPromptParams) (any, *Error) {
	for _, prompt := range s.prompts {
		if prompt.Name != params.Name {
			continue
		}
		if failure := checkArguments(prompt, params.Arguments); failure != nil {
			return nil, failure
		}
	}
	return s.delegate(ctx, r)
}

func checkArguments(prompt mcp.Prompt, given map[string]string) *Error {
	names := make([]string, len(prompt.Arguments))
	known := make(map[string]bool, len(names))
	for i, argument := range prompt.Arguments {
		names[i], known[argument.Name] = argument.Name, true
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
		if !known[name] {
			return argumentError(resources.Clip(name), "The prompt has no argument %q. It has "+
				"%q.", resources.Clip(name), names)
		}
	}
	return nil
}

func argumentError(name, format string, values ...any) *Error {
	failure := &Error{Reason: ReasonParams, Message: fmt.Sprintf(format, values...)}
	return failure.With("argument", resources.Text(name))
}
