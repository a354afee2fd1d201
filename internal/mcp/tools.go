package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/mcp/attachments"
	"github.com/repomcp/repomcp/internal/resources"
)

// HeaderTools limits the tools of a request, or of a connection, to those that it names, separated
// by commas. Without it all are offered.
const HeaderTools = "X-MCP-Tools"

// ToolHandler runs a tool. A mistake that the model can correct is a result with IsError; an error
// is the server's own, and the client learns only that it occurred.
type ToolHandler func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error)

// AddTool offers a tool to agents. Call it before the first request.
func (s *Server) AddTool(tool mcp.Tool, handler ToolHandler) {
	s.tools = append(s.tools, tool)
	slices.SortFunc(s.tools, byName)
	s.handlers[tool.Name] = handler
}

func byName[T mcp.Named](a, b T) int { return strings.Compare(a.GetName(), b.GetName()) }

func names[T mcp.Named](list []T) []string {
	names := make([]string, len(list))
	for i, item := range list {
		names[i] = item.GetName()
	}
	return names
}

// listTools answers tools/list with the tools that the request's header leaves.
func (s *Server) listTools(_ context.Context, r *Request, params mcp.PaginatedParams) (any, *Error) {
	if params.Cursor != "" {
		return nil, foreignCursor()
	}
	offered := slices.DeleteFunc(append([]mcp.Tool{}, s.tools...), func(tool mcp.Tool) bool {
		return r.tools != nil && !slices.Contains(r.tools, tool.Name)
	})
	return &mcp.ListToolsResult{Tools: offered}, nil
}

// callParams are [mcp.CallToolParams], whose reader does not say which argument is wrong.
type callParams struct {
	Name      string          `json:"name"`
	Arguments map[string]any  `json:"arguments"`
	Task      *mcp.TaskParams `json:"task"`
	mcp.MultiRoundTripParams
}

// callTool answers tools/call, and notes the call in the request's account.
func (s *Server) callTool(ctx context.Context, r *Request, params callParams) (any, *Error) {
	run := s.handlers[params.Name]
	if run == nil {
		return nil, wrongMember("name", "the name of a tool") // it is missing: checkName refuses unknown names
	}
	request := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: params.Name}}
	if params.Arguments != nil {
		request.Params.Arguments = params.Arguments
	}
	account := resources.AccountOf(ctx)
	ref := request.GetString("ref", request.GetString("sha", ""))
	account.Call(ctx, params.Name, request.GetString("repo", ""), ref, request.GetString("path", ""))
	result, err := run(ctx, request)
	if err == nil && !result.IsError {
		return result, nil
	}
	account.Fail(0)
	if refusal := limits.RefusalOf(err); refusal != nil {
		return nil, resources.Refused(refusal).With("method", r.Method)
	}
	if err = errors.Join(err, attachments.Of(ctx).Close()); err != nil { // a failure names no attachments
		if ctx.Err() == nil {
			s.logger.ErrorContext(ctx, "a tool failed", "tool", params.Name, "error", err)
		}
		return nil, resources.Internal(err).With("method", r.Method)
	}
	return result, nil
}

// checkName refuses unknown tools and prompts, and suggests similar ones. An invalid name is an
// error of another kind.
func (s *Server) checkName(r *Request) *Error {
	offered, kind := names(s.tools), "tool"
	switch r.Method {
	case MethodToolsList, MethodToolsCall:
		for _, name := range r.tools {
			if !slices.Contains(offered, name) {
				return s.unknownName(kind, name, offered).With("header", HeaderTools)
			}
		}
		if r.tools != nil {
			offered = r.tools
		}
	case MethodPromptsGet:
		offered, kind = names(s.prompts), "prompt"
	}
	if r.Method != MethodToolsCall && r.Method != MethodPromptsGet {
		return nil
	}
	if name, ok := r.Params.name(); ok && !slices.Contains(offered, name) {
		return s.unknownName(kind, name, offered)
	}
	return nil
}

// name returns the name of a tool or a prompt, if it is a string. The member's case is ignored, as
// in the type of the params.
func (p Params) name() (name string, ok bool) {
	var params struct{ Name string }
	if json.Unmarshal(p.Raw, &params) != nil {
		return "", false
	}
	return params.Name, true
}

func (s *Server) unknownName(kind, name string, offered []string) *Error {
	words := "There is no " + kind + " of that name. There are: " + strings.Join(offered, ", ") + "."
	if s.options.Unknown != nil {
		words = s.options.Unknown(kind, name, offered)
	}
	return (&Error{Reason: ReasonParams, Message: words}).With(kind, resources.Text(resources.Clip(name)))
}

// splitNames reads a list of names; nil means that there is none.
func splitNames(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
