package httpx_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/httpx"
)

const (
	cardURL, earlierCardURL = "/mcp/server-card", "/.well-known/mcp/server-card.json"
	catalogURL              = "/.well-known/ai-catalog.json"
)

type remote struct {
	Type, URL                 string
	SupportedProtocolVersions []string
}

type card struct {
	Schema                            string `json:"$schema"`
	Name, Title, Version, Description string
	Repository                        struct{ URL, Source string }
	Remotes                           []remote
}

// decodeStrictly refuses members that the test does not know: what else a card may
// say has to be thought about.
func decodeStrictly(t *testing.T, body []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

// The patterns and lengths are those of the schema of server cards, v1.
func TestTheCardSaysWhatTheProtocolSays(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{})
	answer := s.get(t, cardURL, "Accept: application/mcp-server-card+json")
	if answer.status != http.StatusOK || answer.header.Get("Content-Type") != "application/mcp-server-card+json" {
		t.Fatal(answer)
	}
	var got card
	decodeStrictly(t, answer.body, &got)
	if got.Schema != "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json" ||
		!regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(got.Name) || len(got.Name) > 200 ||
		got.Title == "" || len(got.Title) > 100 || got.Description == "" || len(got.Description) > 100 ||
		got.Repository.URL == "" || got.Repository.Source != "github" || len(got.Remotes) != 1 {
		t.Fatalf("%+v", got)
	}
	if r := got.Remotes[0]; r.Type != "streamable-http" || r.URL != s.url+"/mcp" {
		t.Errorf("%+v", r)
	}
	var begun struct {
		Result struct {
			ServerInfo struct{ Name, Title, Version string }
		}
	}
	initialize := s.call(sessionVersion, "initialize", map[string]any{
		"protocolVersion": sessionVersion, "clientInfo": map[string]any{"name": "t", "version": "1"},
		"capabilities": map[string]any{},
	})
	initialize.header.Del("Mcp-Session-Id")
	initialize.header.Del("Mcp-Protocol-Version")
	if a := s.do(t, initialize); json.Unmarshal(a.body, &begun) != nil {
		t.Fatal(a)
	}
	info := begun.Result.ServerInfo
	if _, name, _ := strings.Cut(got.Name, "/"); info.Name == "" || name != info.Name || got.Title != info.Title ||
		got.Version != info.Version {
		t.Errorf("the card says %s %q %s, initialize %+v", got.Name, got.Title, got.Version, info)
	}
	var discovered struct {
		Result struct{ SupportedVersions []string }
	}
	if a := s.do(t, s.call(modernVersion, "server/discover", map[string]any{})); json.Unmarshal(a.body,
		&discovered) != nil {
		t.Fatal(a)
	}
	for _, version := range discovered.Result.SupportedVersions {
		if !slices.Contains(got.Remotes[0].SupportedProtocolVersions, version) {
			t.Errorf("the card lacks %s, which server/discover has", version)
		}
	}
	if len(discovered.Result.SupportedVersions) == 0 {
		t.Error("server/discover has no version")
	}
}

func TestTheCatalogLeadsToTheCard(t *testing.T) {
	t.Parallel()
	for _, public := range []string{"", "https://git.example.com/"} {
		s := newTarget(t, targetOptions{http: httpx.Options{PublicURL: public}})
		base := s.url
		if public != "" {
			base = strings.TrimSuffix(public, "/")
		}
		answer := s.get(t, catalogURL)
		var catalog struct {
			SpecVersion string
			Entries     []struct{ Identifier, Type, URL string }
		}
		decodeStrictly(t, answer.body, &catalog)
		if answer.header.Get("Content-Type") != "application/ai-catalog+json" || catalog.SpecVersion != "1.0" ||
			len(catalog.Entries) != 1 || catalog.Entries[0].Type != "application/mcp-server-card+json" ||
			catalog.Entries[0].URL != base+cardURL || !strings.HasPrefix(catalog.Entries[0].Identifier, "urn:air:") {
			t.Fatalf("%v: %+v", answer, catalog)
		}
		found := s.get(t, strings.TrimPrefix(catalog.Entries[0].URL, base))
		if earlier := s.get(t, earlierCardURL); found.status != http.StatusOK ||
			!bytes.Equal(earlier.body, found.body) {
			t.Errorf("%v; at the earlier place %v", found, earlier)
		}
		var c card
		if decodeStrictly(t, found.body, &c); c.Remotes[0].URL != base+"/mcp" {
			t.Errorf("%+v", c)
		}
	}
}

// What the documents say is for whoever may use the server, and for nobody else.
func TestCardsAreGuardedAsOtherRoutes(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{AllowedOrigins: []string{"https://ide.example"}}})
	for _, path := range []string{cardURL, earlierCardURL, catalogURL} {
		plain := s.get(t, path)
		etag := plain.header.Get("ETag")
		if plain.status != http.StatusOK || etag == "" || plain.header.Get("Cache-Control") != "private, no-cache" ||
			plain.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, plain)
		}
		// Nothing of what is served: names of repositories, folders.
		for _, secret := range []string{"hello", s.root} {
			if bytes.Contains(plain.body, []byte(secret)) {
				t.Errorf("%s tells of %s: %s", path, secret, plain.body)
			}
		}
		for header, want := range map[string]int{
			"If-None-Match: " + etag:              http.StatusNotModified,
			"If-Match: \"another\"":               http.StatusPreconditionFailed,
			"Origin: https://evil.example":        http.StatusForbidden,
			"Sec-Fetch-Site: cross-site":          http.StatusForbidden,
			"Origin: https://ide.example":         http.StatusOK,
			"Accept: application/json, text/html": http.StatusOK,
		} {
			if a := s.get(t, path, header); a.status != want {
				t.Errorf("%s with %s: %v", path, header, a)
			}
		}
		if a := s.get(t, path, "Origin: https://ide.example"); a.header.Get(
			"Access-Control-Allow-Origin") != "https://ide.example" ||
			!strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "ETag") {
			t.Errorf("%s for a page: %v", path, a)
		}
	}
}
