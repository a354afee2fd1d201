package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/resources"
)

// provided is a server with tools, a prompt and no repositories.
func provided(t *testing.T) *Server {
	t.Helper()
	s, with := serverOf(t, t.TempDir(), resources.Linking{}), seam(t)
	s.tools, s.handlers = with.tools, with.handlers
	s.AddPrompt(mcp.NewPrompt("review", mcp.WithArgument("repo")), func(map[string]string) *mcp.GetPromptResult {
		return mcp.NewGetPromptResult("", nil)
	})
	return s
}

// refusal is an error as a client sees it.
type refusal struct {
	Result any
	Error  struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

// refusalOf asks in each generation that has the method, and returns what all of them say.
func refusalOf(t *testing.T, s *Server, method, params string) (r refusal) {
	t.Helper()
	said := ""
	for era, given := range []string{SessionEra: params, ModernEra: modernParams(params)} {
		if !slices.Contains(methods[method].eras, Era(era)) {
			continue
		}
		r = refusal{}
		if reply := answerTo(t, s, method, given); json.Unmarshal([]byte(reply), &r) != nil {
			t.Fatalf("%s %s: %s", method, params, reply)
		}
		if now := fmt.Sprint(r.Error.Code, r.Error.Message); said != "" && now != said {
			t.Errorf("%s %s: %s in one generation, %s in the other", method, params, said, now)
		} else {
			said = now
		}
	}
	if said == "" {
		t.Fatalf("%s is no method", method)
	}
	return r
}

// What is of a wrong type is named.
func TestMembersOfWrongTypesAreNamed(t *testing.T) {
	t.Parallel()
	s := provided(t)
	const ref, argument = `"ref":{"type":"ref/prompt","name":"review"}`, `"argument":{"name":"repo","value":""}`
	cases := []struct{ method, params, member, want string }{
		{MethodRead, `{"uri":7}`, "uri", "the URI of a resource"},
		{MethodRead, `{"uri":"repo://r00","transferMode":7}`, "transferMode", `"base64"`},
		{MethodToolsCall, `{"name":7}`, "name", "a string"},
		{MethodToolsCall, `{"name":{}}`, "name", "a string"},
		{MethodToolsCall, `{"name":"echo","arguments":7}`, "arguments", "an object"},
		{MethodToolsCall, `{"name":"echo","arguments":[]}`, "arguments", "an object"},
		{MethodToolsCall, `{"name":"echo","arguments":"{}"}`, "arguments", "an object"},
		{MethodPromptsGet, `{"name":[]}`, "name", "a string"},
		{MethodPromptsGet, `{"name":"review","arguments":[]}`, "arguments", "an object"},
		{MethodPromptsGet, `{"name":"review","arguments":{"repo":7}}`, "arguments.repo", "a string"},
		{MethodPromptsGet, `{"name":"review","arguments":{"repo":"a","x":{"y":1}}}`, "arguments.x", "a string"},
		{MethodComplete, `{` + argument + `}`, "ref.type", "ref/prompt or ref/resource"},
		{MethodComplete, `{"ref":null,` + argument + `}`, "ref.type", "ref/prompt or ref/resource"},
		{MethodComplete, `{"ref":7,` + argument + `}`, "ref", "an object"},
		{MethodComplete, `{"ref":{"type":"bogus"},` + argument + `}`, "ref.type", "ref/prompt or ref/resource"},
		{MethodComplete, `{"ref":{"type":7},` + argument + `}`, "ref.type", "a string"},
		{MethodComplete, `{"ref":{"type":"ref/prompt","name":7},` + argument + `}`, "ref.name", "a string"},
		{MethodComplete, `{"ref":{"type":"ref/resource","uri":[]},` + argument + `}`, "ref.uri", "a string"},
		{MethodComplete, `{` + ref + `,"argument":[]}`, "argument", "an object"},
		{MethodComplete, `{` + ref + `,"argument":{"name":7,"value":""}}`, "argument.name", "a string"},
		{MethodComplete, `{` + ref + `,"argument":{"name":"repo","value":7}}`, "argument.value", "a string"},
		{MethodComplete, `{` + ref + `,` + argument + `,"context":7}`, "context", "an object"},
		{MethodComplete, `{` + ref + `,` + argument + `,"context":{"arguments":{"a":7}}}`, "context.arguments.a",
			"a string"},
		{MethodSetLevel, `{"level":7}`, "level", "a string"},
		{MethodSetLevel, `{"level":"loud"}`, "level", `"debug"`},
		{MethodSetLevel, `{}`, "level", `"debug"`},
		{MethodInitialize, `{"protocolVersion":7}`, "protocolVersion", "a string"},
		{MethodInitialize, `{"protocolVersion":"x","capabilities":[]}`, "capabilities", "an object"},
		{MethodInitialize, `{"protocolVersion":"x","clientInfo":{"name":7}}`, "clientInfo.name", "a string"},
	}
	for _, method := range []string{MethodList, MethodTemplates, MethodToolsList, MethodPromptsList} {
		for _, cursor := range []string{"7", "true", "[]", `{"a":1}`} {
			cases = append(cases, struct{ method, params, member, want string }{
				method, `{"cursor":` + cursor + `}`, "cursor", "a string",
			})
		}
	}
	for _, mode := range []string{`"gzip"`, `""`, `"Binary"`, "null", "1", "true", `["binary"]`, "{}"} {
		for method, params := range map[string]string{MethodRead: `{"uri":"repo://r00"`, MethodToolsCall: `{"name":"echo"`} {
			cases = append(cases, struct{ method, params, member, want string }{
				method, params + `,"transferMode":` + mode + `}`, "transferMode", `"base64"`,
			})
		}
	}
	for _, c := range cases {
		r := refusalOf(t, s, c.method, c.params)
		if r.Error.Code != -32602 || !strings.Contains(r.Error.Message, fmt.Sprintf("%q", c.member)) ||
			!strings.Contains(r.Error.Message, c.want) {
			t.Errorf("%s %s: %+v, want %q to be %s", c.method, c.params, r.Error, c.member, c.want)
		}
	}
	if len(cases) < 40 {
		t.Errorf("%d cases", len(cases))
	}
}

// In 2026-07-28 each message has what initialize says once for a session.
func TestMembersOfMetaAreNamed(t *testing.T) {
	t.Parallel()
	s := provided(t)
	const capabilities, level = "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel"
	for _, c := range []struct{ meta, member string }{
		{`"` + level + `":"loud"`, level}, {`"` + level + `":7`, level}, {`"` + level + `":null`, level},
		{`"` + capabilities + `":7`, capabilities}, {`"` + capabilities + `":{"roots":7}`, capabilities + ".roots"},
		{`"` + capabilities + `":{"extensions":[]}`, capabilities + ".extensions"},
	} {
		for _, method := range []string{MethodDiscover, MethodToolsList, MethodStream, MethodListen} {
			messages, _, failure := ParseMessages(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`,
				method, modernParams(`{"_meta":{`+c.meta+`},"uri":"repo://r00"}`)))
			if failure != nil {
				t.Fatal(failure)
			}
			r, failure := s.Connect("", "").Admit(messages[0])
			if failure == nil || Code(failure, r.Era) != -32602 || !strings.Contains(failure.Message, c.member) {
				t.Errorf("%s with %s: %v", method, c.meta, failure)
			}
		}
	}
	if reply := answerTo(t, s, MethodToolsList, modernParams(`{"_meta":{"`+level+`":"debug"}}`)); !strings.Contains(
		reply, `"tools"`) {
		t.Errorf("a level that there is: %s", reply)
	}
}

// A completion is of an argument that its prompt or template has.
func TestCompletionsOfWhatThereIsNot(t *testing.T) {
	t.Parallel()
	s := provided(t)
	const prompt, template = `"ref":{"type":"ref/prompt","name":%q}`, `"ref":{"type":"ref/resource","uri":%q}`
	for _, c := range []struct{ ref, name, argument, want string }{
		{prompt, "reviews", "repo", "There is no prompt"}, {prompt, "", "repo", "There is no prompt"},
		{prompt, "review", "branch", `The prompt has no argument "branch". It has ["repo"]`},
		{prompt, "review", "", `The prompt has no argument ""`},
		{template, "repo://{+repo}/no/such", "repo", "There is no template"},
		{template, "repo://r00", "repo", "There is no template"},
		{template, "repo://" + strings.Repeat("x/", 200<<10), "repo", "There is no template"},
		{template, "nope://x", "repo", "There is no template"},
		{template, "repo://{+repo}", "branch", `The template has no variable "branch". It has ["repo"]`},
		{template, archiveTemplate(), "sha", `The template has no variable "sha". It has ["repo" "ref" "format" "path"`},
	} {
		params := fmt.Sprintf(`{`+c.ref+`,"argument":{"name":%q,"value":""}}`, c.name, c.argument)
		if r := refusalOf(t, s, MethodComplete, params); r.Error.Code != -32602 ||
			!strings.Contains(r.Error.Message, c.want) {
			t.Errorf("%s: %+v", params, r)
		}
	}
	known := 0
	for _, template := range s.templates() {
		for _, variable := range variablesOf(template.URI) {
			known++
			complete(t, s, template.URI, variable, "", nil)
		}
	}
	if known < 25 {
		t.Errorf("the templates have %d variables", known)
	}
}
