package httpx_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestOfficialClientReadsEverything connects the go-sdk, an implementation that
// shares no code with this server's.
func TestOfficialClientReadsEverything(t *testing.T) {
	t.Parallel()
	s := serve(t, "group/hello")
	repo := s.repo("group/hello")
	repo.Commit("main", gittest.Regular("README.md", "# Hello\n"), gittest.Regular("data.bin", "\x00\x01\xff"),
		gittest.Regular("src/main.go", "package main\n"))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true}
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp",
		HTTPClient: &http.Client{Transport: transport}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil && !strings.Contains(err.Error(), "405") {
			t.Error(err)
		}
	}()
	templates, err := session.ListResourceTemplates(ctx, nil)
	if err != nil || len(templates.ResourceTemplates) != 11 {
		t.Fatalf("templates: %v, %v", templates, err)
	}
	for _, template := range templates.ResourceTemplates {
		if wanted := strings.Contains(template.URITemplate, "/contents") || strings.Contains(template.URITemplate,
			"/archive") || strings.Contains(template.URITemplate, ".{form}") || strings.HasSuffix(template.URITemplate,
			"/refs"); (template.Meta["io.github.repomcp/streamable"] == true) != wanted {
			t.Errorf("%s: streamable is %v", template.URITemplate, !wanted)
		}
	}
	list, err := session.ListResources(ctx, nil)
	if err != nil || len(list.Resources) != 2 || list.Resources[0].URI != "repo://group/hello" ||
		list.Resources[1].URI != "repo://group/hello/archive/refs/heads/main.tar.gz" {
		t.Fatalf("resources: %v, %v", list, err)
	}
	for uri, want := range map[string]string{
		"repo://group/hello/contents/README.md":                                           "# Hello\n",
		"repo://group/hello/refs/heads/main/contents/src/main.go":                         "package main\n",
		"repo://group/hello/contents/data.bin":                                            "\x00\x01\xff",
		"repo://group/hello":                                                              `"defaultBranch":"main"`,
		"repo://group/hello/refs":                                                         `"name":"refs/heads/main"`,
		"repo://group/hello/contents":                                                     `"uri":"repo://group/hello/contents/src"`,
		"repo://group/hello/archive/HEAD.tar.gz?prefix=x/":                                "\x1f\x8b",
		"repo://group/hello/sha/" + repo.Git("rev-parse", "HEAD") + "/contents/README.md": "# Hello\n",
	} {
		result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		got := result.Contents[0].Text + string(result.Contents[0].Blob)
		if !strings.Contains(got, want) || result.Contents[0].URI != uri {
			t.Errorf("%s: %q at %q", uri, got, result.Contents[0].URI)
		}
	}
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "repo://group/none"}); err == nil ||
		!strings.Contains(err.Error(), "not found") {
		t.Errorf("unknown repository: %v", err)
	}
	completion, err := session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "repo://{+repo}"},
		Argument: mcp.CompleteParamsArgument{Name: "repo", Value: "gro"},
	})
	if err != nil || len(completion.Completion.Values) != 1 || completion.Completion.Values[0] != "group/hello" {
		t.Errorf("completion: %v, %v", completion, err)
	}
}
