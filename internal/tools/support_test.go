package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/tools"
)

// fileBytes is the largest file that the tests' searcher looks into.
const fileBytes = 1 << 20

// samples are the repositories of the project.
const samples = "../../testrepos"

// site is a set of tools over a root.
type site struct {
	t       *testing.T
	tools   map[string]tools.Tool
	schemas map[string]*jsonschema.Resolved // of results, by name of the tool
}

// open makes tools for a server without a known address.
func open(t *testing.T, root string) *site {
	t.Helper()
	return openWith(t, root, resources.Linking{}, false)
}

// publicAddress is how clients reach the server of openPublic.
const publicAddress = "https://git.example"

// openPublic makes tools for a server whose address is known.
func openPublic(t *testing.T, root string) *site {
	t.Helper()
	keys, err := links.RandomKeyring()
	if err != nil {
		t.Fatal(err)
	}
	base, err := links.ParseBase(publicAddress)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := links.New(links.Options{Keys: keys, Base: base})
	if err != nil {
		t.Fatal(err)
	}
	return openWith(t, root, resources.Linking{Authority: authority, Base: base}, false)
}

func openWith(t *testing.T, root string, linking resources.Linking, noLinks bool) *site {
	t.Helper()
	catalogue := repostest.Open(t, root, repos.Options{})
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	s := &site{t, make(map[string]tools.Tool), make(map[string]*jsonschema.Resolved)}
	for _, tool := range tools.New(tools.Options{
		Catalogue: catalogue, Resources: resources.New(resources.Options{Catalogue: catalogue, Engine: engine,
			Links: linking}),
		Searcher: search.New(catalogue, engine.Scheduler(), search.Options{FileBytes: fileBytes}),
		History:  history.NewCache(0),
		NoLinks:  noLinks,
	}) {
		s.tools[tool.Name] = tool
	}
	return s
}

// reply is a result, taken apart.
type reply struct {
	content string // of a repository
	text    string // all blocks
	data    map[string]any
	links   []string
	failed  bool
}

// next is the cursor with which the text tells to go on; "" when there is no more.
func (r reply) next() string {
	_, cursor, _ := strings.Cut(r.content, "[Cut here. Go on with cursor=")
	cursor, _, _ = strings.Cut(cursor, "]\n")
	return cursor
}

// maxResult is how large a result may be: its texts, its data and its links
// together.
const maxResult = 32 << 10

const originKey = "io.github.repomcp/origin"

// call calls a tool, and holds its data against its schema.
func (s *site) call(name string, arguments map[string]any) reply {
	s.t.Helper()
	tool, ok := s.tools[name]
	if !ok {
		s.t.Fatalf("there is no tool %s", name)
	}
	call := mcp.CallToolRequest{}
	call.Params.Name, call.Params.Arguments = name, roundTrip[any](s.t, arguments)
	result, err := tool.Handler(s.t.Context(), call)
	if err != nil {
		s.t.Fatal(err)
	}
	shown := roundTrip[struct {
		Content []struct {
			Type, Text, URI string
			Meta            map[string]any `json:"_meta"`
		}
		Data    map[string]any `json:"structuredContent"`
		Meta    map[string]any `json:"_meta"`
		IsError bool
	}](s.t, result)
	r := reply{data: shown.Data, failed: shown.IsError}
	size := 0
	if shown.Data != nil {
		size = len(roundTrip[rawText](s.t, result.StructuredContent))
	}
	var texts []string
	for _, block := range shown.Content {
		size += len(block.Text)
		switch {
		case block.Type == "resource_link":
			size += len(roundTrip[rawText](s.t, block))
			r.links = append(r.links, block.URI)
			continue
		case block.Meta[originKey] == "repository":
			r.content += block.Text
		}
		texts = append(texts, strings.TrimSuffix(block.Text, "\n"))
	}
	r.text = strings.Join(texts, "\n")
	if size > maxResult {
		s.t.Errorf("%s %.100v: a result of %d bytes", name, arguments, size)
	}
	if (shown.Data != nil) != (shown.Meta[originKey] == "repository") {
		s.t.Errorf("%s: data of a repository and no mark, or the reverse: %v", name, shown.Meta)
	}
	s.validate(tool.Tool, r)
	return r
}

// validate holds data against the schema, and the notes of both forms against
// each other.
func (s *site) validate(tool mcp.Tool, r reply) {
	s.t.Helper()
	if tool.RawOutputSchema == nil || r.failed {
		if r.data != nil {
			s.t.Errorf("%s has data that it does not declare", tool.Name)
		}
		return
	}
	schema := s.schemas[tool.Name]
	if schema == nil {
		var err error
		if schema, err = roundTrip[*jsonschema.Schema](s.t, tool.RawOutputSchema).Resolve(nil); err != nil {
			s.t.Fatal(err)
		}
		s.schemas[tool.Name] = schema
	}
	if err := schema.Validate(r.data); err != nil {
		s.t.Errorf("%s: %v\n%v", tool.Name, err, r.data)
	}
	notes, _ := r.data["notes"].([]any)
	for _, note := range notes {
		if !strings.Contains(r.text, note.(string)) {
			s.t.Errorf("%s: the text lacks the note %q", tool.Name, note)
		}
	}
}

// roundTrip is what the other side of a connection sees.
func roundTrip[T any](t *testing.T, value any) T {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// strs are the texts of a list in data.
func strs(list any) []string {
	var out []string
	items, _ := list.([]any)
	for _, item := range items {
		out = append(out, item.(string))
	}
	return out
}

type args = map[string]any
