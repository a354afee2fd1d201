// Package repomcp_test holds the rules of the whole module.
package repomcp_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/repomcp/repomcp/"

// arrows say which of the module's packages each package may import. What is
// not here may not be.
var arrows = map[string][]string{
	"cmd/repomcp": {"client", "internal/access", "internal/access/oauth", "internal/access/rules",
		"internal/access/tokens", "internal/admin", "internal/archive", "internal/cache", "internal/cli",
		"internal/doctor", "internal/forwarded", "internal/history", "internal/httpx",
		"internal/limits", "internal/links", "internal/mcp", "internal/metrics", "internal/operatorfile",
		"internal/refresh", "internal/remote", "internal/repos", "internal/resources", "internal/search",
		"internal/statuspage", "internal/stdio", "internal/telemetry",
		"internal/ticks", "internal/tools", "internal/tools/prompts",
		"internal/watch"},
	// What its commands share, and those that ask a server instead of being one.
	"internal/cli": {"internal/cquote", "internal/tools/spelling"},
	"internal/remote": {"client", "client/checkout", "client/unpack", "internal/cli", "internal/cquote",
		"internal/credentials", "internal/loopback"},
	"client":          {"internal/binary"},
	"client/checkout": {"client", "client/unpack", "internal/swap"},
	"client/unpack":   {"internal/swap"},
	"internal/swap":   {},
	"internal/access": {},
	"internal/limits": {"internal/access"},
	// Below the server, and knows nothing of it.
	"internal/httpx/conns": {},
	"internal/forwarded":   {},
	// Whose a token is: one of a file, or one of an authorization server.
	"internal/access/tokens": {"internal/access", "internal/operatorfile"},
	"internal/access/oauth":  {"internal/access", "internal/loopback", "internal/panics", "internal/ticks"},
	// Imported by tests only, as gittest is.
	"internal/access/oauth/issuertest": {},
	"internal/credentials":             {},
	// A file says who may read what; whoever answers asks a repos.View.
	"internal/access/rules": {"internal/access", "internal/lru", "internal/operatorfile", "internal/wildmatch"},
	"internal/operatorfile": {},
	// Imported by tests only, as gittest is.
	"internal/operatorfile/filetest": {"internal/operatorfile"},
	"internal/loopback":              {},
	"internal/weborigin":             {},
	"internal/ticks":                 {},
	"internal/httpx": {"internal/access", "internal/binary", "internal/forwarded", "internal/httpx/conns",
		"internal/limits", "internal/links", "internal/loopback", "internal/mcp", "internal/mcp/duplex",
		"internal/panics", "internal/resources", "internal/statuspage", "internal/ticks", "internal/weborigin"},
	// What a browser is shown: httpx alone knows how it gets there.
	"internal/statuspage": {"internal/access", "internal/cquote", "internal/repos"},
	// What the operator asks: nothing that serves clients knows of it.
	"internal/admin": {"internal/repos", "internal/weborigin"},
	"internal/doctor": {"internal/access/oauth", "internal/access/rules", "internal/access/tokens", "internal/cache",
		"internal/limits", "internal/links", "internal/loopback", "internal/panics", "internal/refresh",
		"internal/repos"},
	"internal/metrics": {"internal/cache", "internal/httpx", "internal/limits", "internal/mcp", "internal/refresh",
		"internal/repos", "internal/watch", "internal/workers"},
	"internal/telemetry": {"internal/httpx", "internal/mcp", "internal/resources"},
	"internal/mcp": {"internal/access", "internal/archive", "internal/binary", "internal/limits",
		"internal/links", "internal/repos", "internal/repos/newest", "internal/resources", "internal/watch"},
	// One client, both ways; WebSocket and stdio are two ways to carry it.
	"internal/mcp/duplex": {"internal/binary", "internal/limits", "internal/mcp", "internal/panics",
		"internal/resources"},
	"internal/stdio": {"internal/binary", "internal/mcp", "internal/mcp/duplex", "internal/panics"},
	"internal/resources": {"internal/access", "internal/archive", "internal/binary", "internal/cache",
		"internal/limits", "internal/links", "internal/lru", "internal/refresh", "internal/repos"},
	"internal/refresh": {"internal/panics", "internal/repos"},
	"internal/watch":   {"internal/access", "internal/panics", "internal/repos", "internal/resources"},
	"internal/tools": {
		"internal/archive", "internal/binary", "internal/cquote", "internal/diff", "internal/history", "internal/lfs",
		"internal/limits", "internal/lru", "internal/mailmap", "internal/repos",
		"internal/resources", "internal/search", "internal/search/pattern", "internal/tools/excerpt",
		"internal/tools/glob", "internal/tools/spelling",
	},
	"internal/tools/excerpt":  {"internal/diff"},
	"internal/tools/glob":     {"internal/wildmatch"},
	"internal/tools/prompts":  {},
	"internal/tools/spelling": {},
	"internal/search": {
		"internal/access", "internal/diff", "internal/lru", "internal/repos", "internal/search/language",
		"internal/search/pattern", "internal/wildmatch", "internal/workers",
	},
	"internal/search/language": {},
	"internal/search/pattern":  {},
	"internal/archive": {
		"internal/access", "internal/archive/attributes", "internal/archive/content", "internal/archive/delta",
		"internal/archive/pathspec",
		"internal/archive/tar", "internal/archive/tree", "internal/archive/zip", "internal/compress/gzip",
		"internal/compress/xz",
		"internal/compress/zstd", "internal/lfs", "internal/lru", "internal/pretty", "internal/repos",
		"internal/workers",
	},
	// Which entries, what differs between two, what they contain, and how they
	// are framed: none knows the package that puts them together.
	"internal/archive/content": {
		"internal/archive/convert", "internal/archive/subst", "internal/archive/tree", "internal/lfs",
		"internal/pretty", "internal/repos",
	},
	"internal/archive/delta": {"internal/archive/tree", "internal/repos"},
	"internal/archive/tree": {
		"internal/archive/attributes", "internal/archive/convert", "internal/archive/pathspec", "internal/pretty",
		"internal/repos",
	},
	"internal/history": {"internal/charset", "internal/commitgraph", "internal/cquote", "internal/diff", "internal/lru",
		"internal/mailmap", "internal/message", "internal/repos", "internal/repos/newest"},
	"internal/mailmap": {"internal/message", "internal/repos"},
	"internal/pretty": {"internal/charset", "internal/mailmap", "internal/message", "internal/repos",
		"internal/repos/newest", "internal/wildmatch"},
	"internal/repos": {
		"internal/charset", "internal/commitgraph", "internal/gitconfig", "internal/lru", "internal/message",
		"internal/objects", "internal/objects/files", "internal/panics", "internal/repos/quarantine",
		"internal/repos/stamp", "internal/ticks",
	},
	"internal/diff": {},
	"internal/objects": {
		"internal/gitconfig", "internal/objects/files", "internal/objects/loose", "internal/objects/object",
		"internal/objects/pack",
	},
	"internal/objects/pack": {
		"internal/inflate", "internal/lru", "internal/objects/files", "internal/objects/object", "internal/panics",
	},
	"internal/objects/loose":  {"internal/inflate", "internal/objects/files", "internal/objects/object"},
	"internal/objects/files":  {"internal/objects/object"},
	"internal/objects/object": {"internal/inflate", "internal/lru", "internal/panics"},
	// Imported by tests only, as gittest is.
	"internal/objects/packtest": {"internal/gittest", "internal/objects/object"},
	"internal/links":            {"internal/loopback", "internal/operatorfile"},
	"internal/binary":           {},
	"internal/cache":            {"internal/loopback", "internal/panics", "internal/ticks"},

	// In memory, for tests.
	"internal/cache/cachetest": {},

	"internal/compress/blocks": {"internal/access", "internal/workers"},
	"internal/compress/gzip":   {"internal/compress/blocks", "internal/workers"},
	"internal/compress/xz":     {"internal/compress/blocks", "internal/workers"},
	"internal/compress/zstd":   {"internal/compress/blocks", "internal/workers"},
	"internal/workers":         {"internal/panics"},
	// Imported by tests only, as gittest is.
	"internal/compress/compresstest": {"internal/workers", "internal/panics"},

	"internal/archive/attributes": {"internal/cquote", "internal/wildmatch"},
	"internal/archive/convert":    {"internal/archive/attributes", "internal/charset"},
	"internal/archive/pathspec":   {"internal/wildmatch"},
	"internal/archive/subst":      {"internal/pretty"},
	"internal/archive/tar":        {"internal/repos"},
	"internal/archive/zip":        {"internal/compress/gzip", "internal/workers"},
	"internal/inflate":            {},
	"internal/lru":                {},
	"internal/lfs":                {},
	"internal/wildmatch":          {},
	"internal/charset":            {"internal/message"},
	"internal/commitgraph":        {},
	"internal/cquote":             {},
	"internal/message":            {},
	"internal/panics":             {},
	"internal/gitconfig":          {},
	"internal/repos/newest":       {},
	"internal/repos/quarantine":   {"internal/panics"},
	"internal/repos/stamp":        {},
	// Imported by tests only, as gittest is.
	"internal/repos/repostest": {"internal/repos"},
	"internal/gittest":         {},
	// They make the files of a release.
	"deploy/mcpb":     {},
	"deploy/registry": {},
	// Measures the program from outside, repos alone beside go-git, and search
	// beside git grep.
	"bench": {"internal/history", "internal/workers", "internal/repos", "internal/search",
		"internal/search/pattern"},
}

// fences say which packages may import a library, by the beginning of its
// path. Tests are free to.
var fences = map[string][]string{
	"github.com/labstack/echo":    {"internal/httpx"},
	"github.com/coder/websocket":  {"client", "internal/httpx"},
	"github.com/mark3labs/mcp-go": {"internal/mcp", "internal/tools", "internal/tools/prompts"},
	"github.com/go-git":           {"internal/repos", "bench"},
	"github.com/klauspost": {"client/unpack", "internal/archive/zip", "internal/compress/gzip",
		"internal/compress/zstd"},
	"github.com/ulikunitz":      {"internal/compress/xz"},
	"github.com/redis":          {"cmd/repomcp", "internal/cache", "internal/doctor", "internal/links"},
	"github.com/fsnotify":       {"internal/watch"},
	"github.com/sony/gobreaker": {"internal/cache", "internal/links"},
	"github.com/minio":          {"internal/cache"},
	"gocloud.dev":               {"internal/cache"},
	"github.com/spf13":          {"cmd/repomcp", "internal/cli", "internal/remote"},
	"go.yaml.in":                {"internal/access/rules", "internal/cli"},
	"github.com/schollz":        {"internal/remote"},
	"os/exec": {"client", "internal/compress/compresstest", "internal/gittest", "internal/refresh",
		"bench"},
	"unsafe": {},
	"net/http": {"client", "internal/access/oauth", "internal/access/oauth/issuertest",
		"internal/admin", "internal/doctor", "internal/httpx", "internal/httpx/conns",
		"internal/metrics", "internal/refresh", "internal/telemetry", "bench"},
	"github.com/prometheus":        {"internal/metrics", "internal/telemetry"},
	"go.opentelemetry.io":          {"internal/telemetry"},
	"github.com/KimMachineGun":     {"internal/limits"},
	"github.com/coreos/go-systemd": {"cmd/repomcp"},
	"github.com/go-jose":           {"internal/access/oauth", "internal/access/oauth/issuertest"},

	// Tests may have a server of mcp-go to talk to.
	"github.com/mark3labs/mcp-go/server": {},
}

type goPackage struct {
	ImportPath string
	Doc        string
	Imports    []string
	GoFiles    []string

	IgnoredGoFiles []string
}

// packages lists those of the larger build: the tag adds imports.
func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-tags", "cloud",
		"-json=ImportPath,Doc,Imports,GoFiles,IgnoredGoFiles", "./...").Output()
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

// viewless are the packages that may reach a repository past the view of a visitor:
// the operator's own work.
var viewless = []string{"cmd/repomcp", "internal/admin", "internal/doctor", "internal/metrics", "internal/watch",
	"internal/repos", "internal/repos/repostest", "bench"}

// What serves visitors is given repos.Views, so that it cannot forget to ask who asks.
func TestVisitorsReachRepositoriesByTheirViews(t *testing.T) {
	past := regexp.MustCompile(`repos\.(Catalogue|Open)\b`)
	looked := 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if !slices.Contains(p.Imports, module+"internal/repos") || slices.Contains(viewless, name) {
			continue
		}
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(name, file))
			if err != nil {
				t.Fatal(err)
			}
			if found := past.Find(text); found != nil {
				t.Errorf("%s/%s has %s; take repos.Views", name, file, found)
			}
			looked++
		}
	}
	if looked < 100 {
		t.Errorf("%d files were looked at", looked)
	}
}

// heavy are packages whose variables take longer to make than all others of the
// program together. Each process would pay for that at its start, also one that only
// writes an archive.
var heavy = []string{
	"github.com/mark3labs/mcp-go/server", "github.com/santhosh-tekuri/jsonschema", "github.com/spf13/cobra/doc",
	"github.com/russross/blackfriday",
}

func TestTheProgramStartsWithoutHeavyPackages(t *testing.T) {
	for _, tags := range []string{"", "cloud"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-tags", tags, "-deps", "./cmd/repomcp").Output()
		if err != nil {
			t.Fatal(err)
		}
		dependencies := strings.Fields(string(out))
		if !slices.Contains(dependencies, "github.com/mark3labs/mcp-go/mcp") {
			t.Errorf("with the tags %q the program has %d dependencies, and not the one that brings them", tags,
				len(dependencies))
		}
		for _, dependency := range dependencies {
			for _, library := range heavy {
				if strings.HasPrefix(dependency+"/", library+"/") {
					t.Errorf("with the tags %q the program depends on %s", tags, dependency)
				}
			}
		}
	}
}

// maxFiles is how many files of a package a reader finds the way among. What has more
// is several packages.
const maxFiles = 25

func TestNoPackageHasManyFiles(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		// Those of other systems and tags are read as well.
		files := len(p.GoFiles)
		for _, name := range p.IgnoredGoFiles {
			if !strings.HasSuffix(name, "_test.go") {
				files++
			}
		}
		if files > maxFiles {
			t.Errorf("package %s has %d files, more than %d", p.ImportPath, files, maxFiles)
		}
		seen += files
	}
	if seen < len(arrows) {
		t.Errorf("%d files were counted in %d packages", seen, len(arrows))
	}
}

func TestEveryPackageHasADocument(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.Imports) > 0 && p.Doc == "" {
			t.Errorf("package %s has no package comment", p.ImportPath)
		}
	}
}
