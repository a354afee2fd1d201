package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// update writes what the program says into the stories and into docs/tools.md:
//
//	go test ./cmd/repomcp -update
var update = flag.Bool("update", false, "write the transcripts that the program gives")

// peer speaks MCP to a server, in one of its eras.
type peer struct {
	url     string
	session string // of the session era; "" is the modern one
}

const modernVersion, sessionVersion = "2026-07-28", "2025-11-25"

// initialize opens a session.
func (p *peer) initialize(ctx context.Context) error {
	_, header, err := p.post(ctx, "initialize", map[string]any{
		"protocolVersion": sessionVersion, "clientInfo": map[string]any{"name": "story",
			"version": "1"}, "capabilities": map[string]any{},
	}, http.Header{})
	p.session = header.Get("Mcp-Session-Id")
	if err == nil && p.session == "" {
		err = fmt.Errorf("no session was opened")
	}
	return err
}

// request gives the result of a method, or its error, as the server wrote it.
func (p *peer) request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	header := http.Header{}
	if p.session != "" {
		header.Set("Mcp-Session-Id", p.session)
		header.Set("Mcp-Protocol-Version", sessionVersion)
	} else {
		header.Set("Mcp-Protocol-Version", modernVersion)
		header.Set("Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			header.Set("Mcp-Name", name)
		}
		params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": modernVersion,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	}
	reply, _, err := p.post(ctx, method, params, header)
	return reply, err
}

func (p *peer) post(
	ctx context.Context, method string, params map[string]any, header http.Header,
) (json.RawMessage, http.Header, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }() // only read from
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, err
	}
	var reply struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(content, &reply); err != nil {
		return nil, nil, fmt.Errorf("%s: %s", response.Status, content)
	}
	if reply.Result == nil {
		return reply.Error, response.Header, nil
	}
	return reply.Result, response.Header, nil
}

// Parts of replies that are other ones each time.
var (
	token   = regexp.MustCompile(`/dl/[A-Za-z0-9_-]+`)
	expires = regexp.MustCompile(`(httpUrlExpiresAt": "|without credentials until )\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

func steady(reply string) string {
	return expires.ReplaceAllString(token.ReplaceAllString(reply, "/dl/TOKEN"), "${1}EXPIRES")
}

// transcribe implements the command of stories
//
//	transcript modern|session FILE
//
// which sends the requests of a file, a line each: "METHOD PARAMS". It prints
// them with their results.
func transcribe(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	p := &peer{url: ts.Getenv("URL")}
	if args[0] == "session" {
		ts.Check(p.initialize(ctx))
	}
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			_, err := fmt.Fprintln(ts.Stdout(), line)
			ts.Check(err)
			continue
		}
		method, raw, _ := strings.Cut(line, " ")
		params := map[string]any{}
		if raw != "" {
			ts.Check(json.Unmarshal([]byte(raw), &params))
		}
		result, err := p.request(ctx, method, params)
		ts.Check(err)
		// The port is another one each time.
		_, err = fmt.Fprintf(ts.Stdout(), "> %s\n%s\n", line, strings.ReplaceAll(readable(result), p.url,
			"http://SERVER"))
		ts.Check(err)
	}
}

// answer implements the command of stories
//
//	answer FILE
//
// which calls the tools of a file, a line each: "TOOL ARGUMENTS". It prints the calls with
// the texts that models read of their results.
func answer(ts *testscript.TestScript, _ bool, args []string) {
	p := &peer{url: ts.Getenv("URL")}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		line = strings.TrimSpace(line)
		tool, arguments, _ := strings.Cut(line, " ")
		result, err := p.request(context.Background(), "tools/call",
			map[string]any{"name": tool, "arguments": json.RawMessage(arguments)})
		ts.Check(err)
		var texts struct {
			Content []struct{ Text string }
			Message string // of an error of the protocol
		}
		ts.Check(json.Unmarshal(result, &texts))
		said := texts.Message
		for _, c := range texts.Content {
			said += c.Text + "\n"
		}
		_, err = fmt.Fprintf(ts.Stdout(), "> %s\n%s\n", line, strings.TrimSpace(said))
		ts.Check(err)
	}
}

// readable spreads a result over lines. What every result of the modern era has,
// and none of the other, is left out: the rest must be the same.
func readable(result json.RawMessage) string {
	var value map[string]any
	if err := json.Unmarshal(result, &value); err != nil {
		return string(result)
	}
	for _, added := range []string{"resultType", "ttlMs", "cacheScope", "_meta"} {
		delete(value, added)
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(value); err != nil {
		return string(result)
	}
	return strings.TrimSuffix(steady(b.String()), "\n")
}
