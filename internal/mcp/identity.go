package mcp

// Identity is what the server says of itself, to clients that ask for it in the
// protocol and to those that look before they connect.
type Identity struct {
	Name, Title, Version string
	// Protocols are the versions of MCP that it speaks, the newest first.
	Protocols []string
}

// Identity returns what results of initialize and server/discover say as well.
func (s *Server) Identity() Identity {
	own := s.implementation()
	return Identity{Name: own.Name, Title: own.Title, Version: own.Version, Protocols: Versions()}
}
