package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Each test here holds one thing that this package relies on, and that an update
// of mcp-go may change.

// seam is a server whose only tool and prompt say what they were given.
func seam(t *testing.T) *Server {
	t.Helper()
	s := New(Options{Version: "1"})
	s.AddTools(server.ServerTool{Tool: mcp.NewTool("echo"), Handler: func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(request.Params.Arguments)), nil
	}}, server.ServerTool{Tool: mcp.NewTool("other"), Handler: func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("other"), nil
	}})
	s.addPrompt(server.ServerPrompt{Prompt: mcp.NewPrompt("repeat"), Handler: func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return mcp.NewGetPromptResult(fmt.Sprint(request.Params.Arguments), nil), nil
	}})
	return s
}

// modernMeta is the _meta of a request of 2026-07-28 with some capabilities.
func modernMeta(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
}

// delegated has mcp-go answer a request, whose failure may be nil.
func delegated(t *testing.T, s *Server, method, params string, tools ...string) (string, *Error) {
	t.Helper()
	raw := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	r := &Request{Message: Message{ID: json.RawMessage("1"), Method: method, Raw: json.RawMessage(raw), Params: readParams(json.RawMessage(params))}, tools: tools}
	result, failure := s.delegate(t.Context(), r)
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failure
}

func TestDelegateSaysWhatIsWrongByCode(t *testing.T) {
	s := seam(t)
	for _, c := range []struct {
		method, params string
		want           string
	}{
		{"no/such", `{}`, "method_not_found"},
		{"resources/read", `{"uri":"repo://a"}`, "method_not_found"},
		{"resources/subscribe", `{"uri":"repo://a"}`, "method_not_found"},
		{"completion/complete", `{}`, "method_not_found"},
		{"tasks/list", `{}`, "method_not_found"},
		{"server/discover", `{}`, "method_not_found"},
		{"subscriptions/listen", `{}`, "method_not_found"},
		{"initialize", `{` + modernMeta(`{}`) + `}`, "method_not_found"},
		{"ping", `{` + modernMeta(`{}`) + `}`, "method_not_found"},
		{"logging/setLevel", `{` + modernMeta(`{}`) + `,"level":"debug"}`, "method_not_found"},
		{"tools/call", `{"name":5}`, "invalid_request"},
		{"tools/list", `{"cursor":5}`, "invalid_request"},
		{"tools/list", `{"cursor":"?"}`, "invalid_params"},
		{"logging/setLevel", `{"level":"loud"}`, "invalid_params"},
		{"tools/list", `{` + modernMeta(`{"sampling":5}`) + `}`, "invalid_params"},
	} {
		if _, failure := delegated(t, s, c.method, c.params); failure == nil || string(failure.Reason) != c.want {
			t.Errorf("%s %s: %v, want %s", c.method, c.params, failure, c.want)
		}
	}
}

// The text names the field of MCP, and nothing of Go.
func TestDelegateNamesTheMissingField(t *testing.T) {
	_, failure := delegated(t, seam(t), "tools/list", `{`+modernMeta(`{"sampling":5}`)+`}`)
	const want = "Invalid params: missing or invalid _meta field io.modelcontextprotocol/clientCapabilities."
	if failure == nil || failure.Message != want {
		t.Errorf("%+v, want %s", failure, want)
	}
}

// What is answered here is completed like what mcp-go answers.
func TestDelegateCompletesModernResults(t *testing.T) {
	s := seam(t)
	got, failure := delegated(t, s, "tools/list", `{`+modernMeta(`{}`)+`}`)
	if failure != nil {
		t.Fatal(failure)
	}
	var theirs, ours map[string]json.RawMessage
	own := &templatesResult{}
	s.complement(&Request{Era: ModernEra}, own)
	text, err := json.Marshal(own)
	if err != nil || json.Unmarshal(text, &ours) != nil || json.Unmarshal([]byte(got), &theirs) != nil {
		t.Fatal(got, err)
	}
	for _, name := range []string{"_meta", "resultType", "ttlMs", "cacheScope"} {
		if string(theirs[name]) != string(ours[name]) || theirs[name] == nil {
			t.Errorf("%s is %s to mcp-go and %s here", name, theirs[name], ours[name])
		}
	}
}

// A session without a queue and without a memory is enough.
func TestDelegateTakesALevelAndKeepsNothing(t *testing.T) {
	s := seam(t)
	for _, method := range []string{"logging/setLevel", "ping"} {
		if got, failure := delegated(t, s, method, `{"level":"debug"}`); failure != nil || got != "{}" {
			t.Errorf("%s: %s, %v", method, got, failure)
		}
	}
}

// The filter of tools holds for lists and for calls.
func TestDelegateOffersChosenToolsOnly(t *testing.T) {
	s := seam(t)
	got, failure := delegated(t, s, "tools/list", `{}`, "other")
	if failure != nil || strings.Contains(got, "echo") || !strings.Contains(got, "other") {
		t.Errorf("%s, %v", got, failure)
	}
}

// Arguments that no prompt declares are passed on: getPrompt refuses them.
func TestDelegatePassesUndeclaredArguments(t *testing.T) {
	got, failure := delegated(t, seam(t), "prompts/get", `{"name":"repeat","arguments":{"extra":"x"}}`)
	if failure != nil || !strings.Contains(got, "extra") {
		t.Errorf("%s, %v: checkArguments may not be needed any more", got, failure)
	}
}

// A name is found in any case of letters: checkName reads it so, too.
func TestDelegateReadsNamesInAnyCase(t *testing.T) {
	if got, failure := delegated(t, seam(t), "tools/call", `{"Name":"other"}`); failure != nil || !strings.Contains(got, "other") {
		t.Errorf("%s, %v", got, failure)
	}
}

// The rules for headers know nothing of resources/stream, which borrows those of
// resources/read.
func TestStandardHeadersKnowNoStreams(t *testing.T) {
	header := func(name string) string {
		return map[string]string{HeaderMethod: MethodStream, HeaderName: "repo://b", HeaderVersion: "2026-07-28"}[name]
	}
	params := json.RawMessage(`{"uri":"repo://a"}`)
	if err := mcp.ValidateStandardHeaders(header, mcp.ProtocolVersion20260728, MethodStream, params); err != nil {
		t.Errorf("%v: checkStandardHeaders may not be needed any more", err)
	}
	message := Message{ID: json.RawMessage("1"), Method: MethodStream, Params: readParams(params)}
	if failure := checkStandardHeaders(message, header); failure == nil || failure.Reason != ReasonHeader {
		t.Errorf("another name: %v", failure)
	}
}

// Both decide alike which versions there are.
func TestVersionsAreThoseOfBothEras(t *testing.T) {
	var modern, older []string
	for _, version := range Versions() {
		if IsModern(version) {
			modern = append(modern, version)
		} else {
			older = append(older, version)
		}
	}
	if fmt.Sprint(modern, older) != "[2026-07-28] [2025-11-25 2025-06-18 2025-03-26 2024-11-05]" {
		t.Errorf("%v and %v: eras, batches and the documents name them", modern, older)
	}
}
