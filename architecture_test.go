// Package repomcp_test holds the rules of the whole module.
package repomcp_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/repomcp/repomcp/"

// arrows say which of the module's packages each package may import. What is
// not here may not be.
var arrows = map[string][]string{
	"cmd/repomcp":        {"client", "client/checkout", "client/unpack", "internal/archive", "internal/cache", "internal/history", "internal/httpx", "internal/links", "internal/repos", "internal/resources", "internal/search", "internal/tools"},
	"client":             {},
	"client/checkout":    {"client", "client/unpack"},
	"client/unpack":      {},
	"internal/httpx":     {"internal/links", "internal/panics", "internal/resources"},
	"internal/resources": {"internal/archive", "internal/cache", "internal/links", "internal/lru", "internal/panics", "internal/repos", "internal/watch"},
	"internal/watch":     {"internal/repos"},
	"internal/tools":     {"internal/archive", "internal/archive/lfs", "internal/archive/wildmatch", "internal/history", "internal/lru", "internal/mailmap", "internal/repos", "internal/search", "internal/search/pattern"},
	"internal/search": {
		"internal/archive/wildmatch", "internal/archive/workers", "internal/lru", "internal/repos", "internal/search/language", "internal/search/pattern",
	},
	"internal/search/language": {},
	"internal/search/pattern":  {},
	"internal/archive": {
		"internal/archive/attributes", "internal/archive/convert", "internal/archive/gzip", "internal/archive/lfs", "internal/archive/pathspec",
		"internal/archive/subst", "internal/archive/workers", "internal/archive/xz", "internal/archive/zip", "internal/archive/zstd", "internal/lru",
		"internal/pretty", "internal/repos",
	},
	"internal/history": {"internal/charset", "internal/commitgraph", "internal/diff", "internal/mailmap", "internal/message", "internal/repos"},
	"internal/mailmap": {"internal/message", "internal/repos"},
	"internal/pretty":  {"internal/archive/wildmatch", "internal/charset", "internal/mailmap", "internal/message", "internal/repos"},
	"internal/repos":   {"internal/charset", "internal/commitgraph", "internal/lru", "internal/message", "internal/objects"},
	"internal/diff":    {},
	"internal/objects": {"internal/inflate", "internal/lru", "internal/panics"},
	"internal/links":   {},
	"internal/cache":   {"internal/panics"},

	// In memory, for tests.
	"internal/cache/cachetest": {},

	"internal/archive/blocks":  {"internal/archive/workers"},
	"internal/archive/gzip":    {"internal/archive/blocks", "internal/archive/workers"},
	"internal/archive/workers": {"internal/panics"},
	// Imported by tests only, as gittest is.
	"internal/archive/compresstest": {"internal/archive/workers", "internal/panics"},

	"internal/archive/attributes": {"internal/archive/wildmatch"},
	"internal/archive/convert":    {"internal/archive/attributes", "internal/charset"},
	"internal/archive/lfs":        {},
	"internal/archive/pathspec":   {"internal/archive/wildmatch"},
	"internal/archive/subst":      {"internal/pretty"},
	"internal/archive/wildmatch":  {},
	"internal/archive/xz":         {"internal/archive/blocks", "internal/archive/workers"},
	"internal/archive/zip":        {"internal/archive/gzip", "internal/archive/workers"},
	"internal/archive/zstd":       {"internal/archive/blocks", "internal/archive/workers"},
	"internal/inflate":            {},
	"internal/lru":                {},
	"internal/charset":            {},
	"internal/commitgraph":        {},
	"internal/message":            {},
	"internal/panics":             {},
	"internal/gittest":            {},
	// Measures the program from outside, repos alone beside go-git, and search
	// beside git grep.
	"bench": {"internal/archive/workers", "internal/repos", "internal/search", "internal/search/pattern"},
}

// fences say which packages may import a library, by the beginning of its
// path. Tests are free to.
var fences = map[string][]string{
	"github.com/labstack/echo":    {"internal/httpx"},
	"github.com/coder/websocket":  {"internal/httpx"},
	"github.com/mark3labs/mcp-go": {"internal/resources", "internal/tools", "cmd/repomcp"},
	"github.com/go-git":           {"internal/repos", "bench"},
	"github.com/klauspost":        {"client/unpack", "internal/archive/gzip", "internal/archive/zip", "internal/archive/zstd"},
	"github.com/ulikunitz":        {"internal/archive/xz"},
	"github.com/redis":            {"internal/cache", "internal/links", "cmd/repomcp"},
	"github.com/fsnotify":         {"internal/watch"},
	"github.com/sony/gobreaker":   {"internal/cache", "internal/links"},
	"github.com/minio":            {"internal/cache"},
	"gocloud.dev":                 {"internal/cache"},
	"github.com/spf13":            {"cmd/repomcp"},
	"github.com/knadh":            {"cmd/repomcp"},
	"github.com/schollz":          {"cmd/repomcp"},
	"os/exec":                     {"internal/archive/compresstest", "internal/gittest", "bench"},
	"unsafe":                      {},
	// resources builds mcp-go's HTTP handler, whose types are net/http's.
	"net/http": {"client", "internal/httpx", "internal/resources", "bench"},
}

type goPackage struct {
	ImportPath string
	Doc        string
	Imports    []string
}

// packages lists those of the larger build: the tag adds imports.
func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-tags", "cloud", "-json=ImportPath,Doc,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func TestImportsFollowTheArrows(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := arrows[name]
		if !known && len(p.Imports) > 0 {
			t.Errorf("package %s is not in the table of arrows", name)
			continue
		}
		seen++
		for _, imported := range p.Imports {
			if inner, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(allowed, inner) {
				t.Errorf("%s may not import %s", name, inner)
			}
			for library, users := range fences {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && !slices.Contains(users, name) {
					t.Errorf("%s may not import %s", name, imported)
				}
			}
		}
	}
	if seen < len(arrows) {
		t.Errorf("%d packages were looked at, the table has %d", seen, len(arrows))
	}
}

func TestEveryPackageHasADocument(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.Imports) > 0 && p.Doc == "" {
			t.Errorf("package %s has no package comment", p.ImportPath)
		}
	}
}
