package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/resources"
)

// HeaderTools chooses fewer tools for a request, or for a connection, by their names
// with commas between. Without it all are offered.
const HeaderTools = "X-MCP-Tools"

// AddTools offers tools to agents. Call it before the first request.
func (s *Server) AddTools(tools ...server.ServerTool) {
	for _, tool := range tools {
		tool.Handler = accounted(tool.Handler)
		s.mcp.AddTools(tool)
		s.tools = append(s.tools, tool.Tool.Name)
	}
	slices.Sort(s.tools)
}

// accounted makes a tool tell of its calls.
func accounted(handler server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		account := resources.AccountOf(ctx)
		ref := request.GetString("ref", request.GetString("sha", ""))
		account.Call(request.Params.Name, request.GetString("repo", ""), ref)
		result, err := handler(ctx, request)
		if err != nil || result != nil && result.IsError {
			account.Fail()
			err = errors.Join(err, resources.AttachmentsOf(ctx).Close()) // a failure names none
		}
		return result, err
	}
}

// checkName refuses tools and prompts that there are not, with which are meant:
// mcp-go's error would say that something of the params is wrong. A name that is
// none at all is an error of another kind.
func (s *Server) checkName(r *Request) *Error {
	offered, kind := s.tools, "tool"
	switch r.Method {
	case MethodToolsList, MethodToolsCall:
		for _, name := range r.tools {
			if !slices.Contains(s.tools, name) {
				return s.unknownName(kind, name, s.tools).With("header", HeaderTools)
			}
		}
		if r.tools != nil {
			offered = r.tools
		}
	case MethodPromptsGet:
		offered, kind = s.promptNames(), "prompt"
	}
	if r.Method != MethodToolsCall && r.Method != MethodPromptsGet {
		return nil
	}
	var params struct{ Name string } // in any case of letters, as mcp-go takes it
	if json.Unmarshal(r.Params.Raw, &params) != nil || slices.Contains(offered, params.Name) {
		return nil
	}
	return s.unknownName(kind, params.Name, offered)
}

func (s *Server) unknownName(kind, name string, offered []string) *Error {
	words := "There is no " + kind + " of that name. There are: " + strings.Join(offered, ", ") + "."
	if s.options.Unknown != nil {
		words = s.options.Unknown(kind, name, offered)
	}
	return (&Error{Reason: ReasonParams, Message: words}).With(kind, resources.Text(resources.Clip(name)))
}

// splitNames reads a list of names; nil is none.
func splitNames(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// chosenTools are those that the request's header leaves.
func chosenTools(ctx context.Context, all []mcp.Tool) []mcp.Tool {
	request := requestOf(ctx)
	if request == nil || request.tools == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(tool mcp.Tool) bool {
		return !slices.Contains(request.tools, tool.Name)
	})
}
