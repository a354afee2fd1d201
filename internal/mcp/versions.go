package mcp

import (
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/resources"
)

// mcp-go makes the decisions of this file, about versions and headers. A test covers
// each property of mcp-go that is needed but not documented.

// Versions of the protocol that are served, the newest first.
func Versions() []string { return mcp.ValidProtocolVersions }

// IsModern reports whether a version has no sessions.
func IsModern(version string) bool { return mcp.IsModernProtocol(version) }

// checkStandardHeaders compares Mcp-Method and Mcp-Name with the body. The name of a stream is its
// URI, like that of a read. The header may be left out for a stream, since the specification of
// that method does not know the header.
func checkStandardHeaders(message Message, header headers) *Error {
	method := mcp.MCPMethod(message.Method)
	if message.Method == MethodStream {
		if header(HeaderMethod) != MethodStream {
			return mismatch("The header Mcp-Method is required and must be the method of the body.")
		}
		if header(HeaderName) == "" {
			return nil
		}
		inner := header
		method = mcp.MethodResourcesRead
		header = func(name string) string {
			if name == HeaderMethod {
				return MethodRead
			}
			return inner(name)
		}
	}
	if err := mcp.ValidateStandardHeaders(header, mcp.ProtocolVersion20260728, method, message.Params.Raw); err != nil {
		return mismatch("The headers Mcp-Method and Mcp-Name must be there and say what the body " +
			"says: " + resources.ClipLong(err.Error()) + ".")
	}
	return nil
}
