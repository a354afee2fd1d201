package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/tools"
	"github.com/repomcp/repomcp/internal/workers"
)

// fileBytes is the largest file that the tests' searcher looks into.
const fileBytes = 1 << 20

// samples are the repositories of the project.
const samples = "../../testrepos"

// site is a set of tools over a root.
type site struct {
	t       *testing.T
	tools   map[string]server.ServerTool
	schemas map[string]*jsonschema.Resolved // of results, by name of the tool
}

func open(t *testing.T, root string) *site {
	t.Helper()
	catalogue, err := repos.Open(root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &site{t, make(map[string]server.ServerTool), make(map[string]*jsonschema.Resolved)}
	scheduler := workers.New(2)
	t.Cleanup(scheduler.Close)
	searcher := search.New(catalogue, scheduler, search.Options{FileBytes: fileBytes})
	for _, tool := range tools.New(tools.Options{Catalogue: catalogue, Locator: signpost{}, Searcher: searcher,
		Facts: history.NewFacts(0)}) {
		s.tools[tool.Tool.Name] = tool
	}
	return s
}

// signpost invents addresses; the real ones are tested with the whole program.
type signpost struct{}

func (signpost) Card(repository string) string    { return "repo://" + repository }
func (signpost) RefsURI(repository string) string { return "repo://" + repository + "/refs" }

func (s signpost) Refs(_ context.Context, repository string) (tools.Handle, error) {
	return tools.Handle{URI: s.RefsURI(repository), FileName: "refs", Size: tools.UnknownSize,
		Route: "/refs/" + repository}, nil
}

func (signpost) Repositories(context.Context) (tools.Handle, error) {
	return tools.Handle{URI: "repo://", FileName: "repositories", Size: tools.UnknownSize, Route: "/repositories"}, nil
}

func (signpost) Contents(_ context.Context, repository, commit, path string) (tools.Handle, error) {
	route := fmt.Sprintf("/raw/%s/%s/%x", repository, commit, path)
	return tools.Handle{URI: "repo:/" + route, MIMEType: "x/y", FileName: path, Size: tools.UnknownSize, Route: route,
		URL: "https://git.example" + route}, nil
}

func (signpost) Archive(_ context.Context, repository, commit string, options archive.Options) (tools.Handle, error) {
	route := fmt.Sprintf("/archive/%s/%s.%s?%q", repository, commit, options.Format, options.Values())
	return tools.Handle{URI: "repo:/" + route, FileName: repository, Size: tools.UnknownSize, Route: route}, nil
}

func (p signpost) MeasuredArchive(
	ctx context.Context, repository, commit string, options archive.Options,
) (tools.ArchiveHandle, error) {
	h, err := p.Archive(ctx, repository, commit, options)
	return tools.ArchiveHandle{Handle: h}, err
}

// reply is a result, taken apart.
type reply struct {
	content string // of a repository
	text    string // all blocks
	data    map[string]any
	links   []string
	failed  bool
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
