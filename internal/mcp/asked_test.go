package mcp

import (
	"encoding/json"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/watch"
)

// serverOf makes a server over a root.
func serverOf(t testing.TB, root string, links resources.Linking) *Server {
	t.Helper()
	catalogue := repostest.Open(t, root, repos.Options{})
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return New(Options{
		Catalogue:     catalogue,
		Resources:     resources.New(resources.Options{Catalogue: catalogue, Engine: engine, Links: links}),
		Subscriptions: watch.New(watch.Options{Catalogue: catalogue}),
	})
}

// ask sends a request of 2026-07-28 the way that HTTP does, and reads its
// result; the code is that of an error.
func ask(t testing.TB, s *Server, method string, params map[string]any, result any) (code int, reply string) {
	t.Helper()
	full := map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{}}}
	for name, value := range params {
		full[name] = value
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": full})
	if err != nil {
		t.Fatal(err)
	}
	messages, _, failure := ParseMessages(raw)
	if failure != nil {
		t.Fatal(failure)
	}
	answer := s.Answer(t.Context(), &Request{Message: messages[0], Era: ModernEra})
	if err := json.Unmarshal(answer.Message, &struct{ Result any }{result}); err != nil {
		t.Fatalf("%s: %q: %v", method, answer.Message, err)
	}
	return answer.Code, string(answer.Message)
}
