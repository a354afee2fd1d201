package resources

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxPromptArgument bounds an argument of a prompt, in bytes. It is a name or a
// line, and goes into the context of a model.
const maxPromptArgument = 1024

// checkPrompt has a prompt refuse arguments that it does not declare, that are
// missing, or that are too long: mcp-go passes on whatever there is.
func checkPrompt(prompt server.ServerPrompt) server.PromptHandlerFunc {
	return func(ctx context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if failure := checkArguments(prompt.Prompt, request.Params.Arguments); failure != nil {
			fail(ctx, failure)
			return nil, failure
		}
		return prompt.Handler(ctx, request)
	}
}

func checkArguments(prompt mcp.Prompt, given map[string]string) *Error {
	names := make([]string, len(prompt.Arguments))
	known := make(map[string]bool, len(names))
	for i, argument := range prompt.Arguments {
		names[i], known[argument.Name] = argument.Name, true
		switch value := given[argument.Name]; {
		case argument.Required && value == "":
			return argumentError(argument.Name, "The argument %q of the prompt is required: %s", argument.Name, argument.Description)
		case len(value) > maxPromptArgument:
			return argumentError(argument.Name, "The argument %q of the prompt has more than %d bytes. Give a name or a line.", argument.Name, maxPromptArgument)
		}
	}
	for name := range given {
		if !known[name] {
			return argumentError(clip(name), "The prompt has no argument %q. It has %q.", clip(name), names)
		}
	}
	return nil
}

func argumentError(name, format string, values ...any) *Error {
	failure := &Error{Reason: ReasonParams, Message: fmt.Sprintf(format, values...)}
	return failure.with("argument", text(name))
}
