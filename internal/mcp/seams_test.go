package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// Each test here holds one thing that this package relies on, and that an update
// of mcp-go may change. What its types read and write is held by
// [TestAnswersStayAsTheyAre].

// seam is a server whose tool "echo" and only prompt say what they were given.
func seam(t *testing.T) *Server {
	t.Helper()
	s := New(Options{Version: "1"})
	s.AddTool(mcp.Tool{Name: "wrong"}, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("Say less."), nil
	})
	s.AddTool(mcp.Tool{Name: "echo"}, func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult,
		error) {
		return mcp.NewToolResultText(fmt.Sprint(request.Params.Arguments)), nil
	})
	s.AddTool(mcp.Tool{Name: "other"}, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("other"), nil
	})
	s.AddTool(mcp.Tool{Name: "broken"}, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("a path of the host")
	})
	s.AddPrompt(mcp.NewPrompt("repeat", mcp.WithArgument("text")),
		func(arguments map[string]string) *mcp.GetPromptResult {
			return mcp.NewGetPromptResult(fmt.Sprint(arguments), []mcp.PromptMessage{})
		})
	return s
}

// The rules for headers know nothing of resources/stream, which borrows those of
// resources/read.
func TestStandardHeadersKnowNoStreams(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
