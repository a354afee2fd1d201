package mcp

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// answersFile holds, for each request, what the server of [seam] replies to it in
// both eras. It was written by mcp-go's server, which once answered these methods; but that took names of params in
// another case.
const answersFile = "testdata/answers.txt"

// TestAnswersStayAsTheyAre compares them byte for byte.
func TestAnswersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(answersFile)
	if err != nil {
		t.Fatal(err)
	}
	s := seam(t)
	asked := 0
	for block := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n\n") {
		lines := strings.Split(block, "\n")
		method, params, _ := strings.Cut(lines[0], " ")
		for era, given := range []string{SessionEra: params, ModernEra: modernParams(params)} {
			asked++
			if got := answerTo(t, s, method, given); got != lines[1+era] {
				t.Errorf("%s in era %d:\n got %s\nwant %s", lines[0], era, got, lines[1+era])
			}
		}
	}
	if asked < 200 {
		t.Errorf("only %d requests were made", asked)
	}
}

// modernParams adds to params, which may be none, what a request of 2026-07-28 has.
func modernParams(params string) string {
	const capabilities = `"io.modelcontextprotocol/clientCapabilities":`
	meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	if !strings.Contains(params, capabilities) {
		meta += "," + capabilities + "{}"
	}
	switch rest, has := strings.CutPrefix(params, `{"_meta":{`); {
	case params == "":
		return `{"_meta":{` + meta + `}}`
	case has:
		return `{"_meta":{` + strings.Replace(meta+","+rest, ",}", "}", 1)
	case strings.HasPrefix(params, "{"):
		return strings.Replace(`{"_meta":{`+meta+`},`+params[1:], ",}", "}", 1)
	}
	return params
}

// answerTo is the reply to a request over a connection in a session.
func answerTo(t *testing.T, s *Server, method, params string) string {
	t.Helper()
	if params != "" {
		params = `,"params":` + params
	}
	messages, _, failure := ParseMessages(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q%s}`, method, params))
	if failure != nil {
		return strings.TrimSpace(string(ErrorReply(nil, failure, SessionEra)))
	}
	connection := s.Connect("", "")
	if method != MethodInitialize {
		connection.claims = &Claims{Version: "2025-11-25"}
	}
	r, failure := connection.Admit(messages[0])
	if failure != nil {
		return strings.TrimSpace(string(ErrorReply(r.ID, failure, r.Era)))
	}
	return strings.TrimSpace(string(s.Answer(t.Context(), r).Message))
}
