package resources

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// HeaderTools chooses fewer tools for a request, by their names with commas
// between. Without it all are offered.
const HeaderTools = "X-MCP-Tools"

const (
	methodToolsList  = string(mcp.MethodToolsList)
	methodToolsCall  = string(mcp.MethodToolsCall)
	methodPromptsGet = string(mcp.MethodPromptsGet)
)

// AddTools offers tools to agents. Call it before the first request.
func (s *Server) AddTools(tools ...server.ServerTool) {
	s.mcp.AddTools(tools...)
	for _, tool := range tools {
		s.tools = append(s.tools, tool.Tool.Name)
	}
	slices.Sort(s.tools)
}

// admitNamed refuses tools and prompts that there are not, with which are meant:
// mcp-go's error would say that something of the params is wrong. header may be
// nil, for transports without.
func (s *Server) admitNamed(r *Request, header func(string) string) *Error {
	offered, kind := s.tools, "tool"
	switch r.Method {
	case methodToolsList, methodToolsCall:
		if header != nil {
			r.tools = splitNames(header(HeaderTools))
		}
		for _, name := range r.tools {
			if !slices.Contains(s.tools, name) {
				return s.unknown(kind, name, s.tools).with("header", HeaderTools)
			}
		}
		if r.tools != nil {
			offered = r.tools
		}
	case methodPromptsGet:
		offered, kind = s.prompts, "prompt"
	}
	if r.Method != methodToolsCall && r.Method != methodPromptsGet {
		return nil
	}
	var params struct{ Name string }
	if json.Unmarshal(r.Params, &params) != nil || slices.Contains(offered, params.Name) {
		return nil // what is no name at all is an error of another kind
	}
	return s.unknown(kind, params.Name, offered)
}

func (s *Server) unknown(kind, name string, offered []string) *Error {
	words := "There is no " + kind + " of that name. There are: " + strings.Join(offered, ", ") + "."
	if s.options.Unknown != nil {
		words = s.options.Unknown(kind, name, offered)
	}
	return (&Error{Reason: ReasonParams, Message: words}).with(kind, text(clip(name)))
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
	request, ok := ctx.Value(requestKey{}).(*Request)
	if !ok || request.tools == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(tool mcp.Tool) bool { return !slices.Contains(request.tools, tool.Name) })
}
