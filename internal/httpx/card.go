package httpx

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"
)

// Clients look here for the server before they connect to it (SEP-2127): the card is reserved below
// the endpoint, and the catalogue of the host leads to the card.
const (
	cardPath    = mcpPath + "/server-card"
	catalogPath = "/.well-known/ai-catalog.json"
	// earlierCardPath is the path in the drafts up to June 2026, which clients and crawlers still
	// request.
	earlierCardPath = "/.well-known/mcp/server-card.json"
)

const (
	typeCard    = "application/mcp-server-card+json"
	typeCatalog = "application/ai-catalog+json"
	cardSchema  = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
	// namespace precedes the server's name, as in the MCP registry.
	namespace       = "io.github.repomcp/"
	publisher       = "repomcp.github.io" // the namespace as a domain
	cardDescription = "Read-only tools, files and archives of git repositories, served beside a folder of mirrors"
)

// serverCard describes the server to clients that have not connected.
type serverCard struct {
	Schema      string           `json:"$schema"`
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Version     string           `json:"version"`
	Description string           `json:"description"`
	Repository  cardRepository   `json:"repository"`
	Remotes     []remoteEndpoint `json:"remotes"`
}

// cardRepository is where the server's source code is.
type cardRepository struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

// remoteEndpoint is an address to connect to.
type remoteEndpoint struct {
	Type      string   `json:"type"`
	URL       string   `json:"url"`
	Protocols []string `json:"supportedProtocolVersions"`
}

// card replies with the server's description of itself. It contains nothing about repositories or
// settings, since every client may read it.
func (s *Server) card(c echo.Context) error {
	own := s.options.MCP.Identity()
	return publish(c, typeCard, serverCard{
		Schema: cardSchema, Name: namespace + own.Name, Title: own.Title, Version: own.Version,
		Description: cardDescription,
		Repository:  cardRepository{URL: "https://github.com/repomcp/repomcp", Source: "github"},
		Remotes: []remoteEndpoint{
			{Type: "streamable-http", URL: s.base(c.Request()) + mcpPath, Protocols: own.Protocols},
		},
	})
}

// catalogEntry points to a card.
type catalogEntry struct {
	Identifier string `json:"identifier"`
	Type       string `json:"type"`
	URL        string `json:"url"`
}

// catalog replies with the location of this host's only card.
func (s *Server) catalog(c echo.Context) error {
	return publish(c, typeCatalog, struct {
		Version string         `json:"specVersion"`
		Entries []catalogEntry `json:"entries"`
	}{"1.0", []catalogEntry{{
		Identifier: "urn:air:" + publisher + ":mcp:" + s.options.MCP.Identity().Name, Type: typeCard,
		URL: s.base(c.Request()) + cardPath,
	}}})
}

// publish replies with a small document. Without --public-url it contains the Host of the request,
// so caches must not give it to other clients.
func publish(c echo.Context, mimeType string, document any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return err
	}
	sum := sha256.Sum256(body.Bytes())
	etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
	h := c.Response().Header()
	h.Set("ETag", etag)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	switch status := precondition(c.Request().Header, validators{etag: etag}); status {
	case http.StatusNotModified:
		return c.NoContent(status)
	case http.StatusPreconditionFailed:
		return refuse(c, status, "The document is another one by now. Ask for it without If-Match.")
	}
	return c.Blob(http.StatusOK, mimeType, body.Bytes())
}
