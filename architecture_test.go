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

// arrows say which of the module's packages each package may import: those, and no others.
// Rooms are in the order of their floors, the highest first. Packages without users, such as
// gittest, are imported by tests alone.
var arrows = map[string][]string{
	"cmd/repomcp": {
		"client", "internal/access", "internal/access/limits", "internal/access/oauth", "internal/access/rules",
		"internal/access/tokens", "internal/archive", "internal/base/operatorfile", "internal/base/ticks",
		"internal/cache", "internal/commands/cli", "internal/commands/remote", "internal/git",
		"internal/git/history", "internal/httpx", "internal/links", "internal/mcp", "internal/mcp/stdio",
		"internal/operate/admin", "internal/operate/audit", "internal/operate/doctor",
		"internal/operate/metrics", "internal/operate/refresh", "internal/operate/statuspage",
		"internal/operate/telemetry",
		"internal/repos", "internal/resources", "internal/resources/skills", "internal/resources/uploadpack",
		"internal/search", "internal/search/index", "internal/tools", "internal/tools/prompts", "internal/watch",
	},

	"client": {"client/internal/retry", "internal/mcp/binary"},
	"client/checkout": {
		"client", "client/internal/dotgit", "client/internal/retry", "client/unpack", "internal/base/filenames",
		"internal/base/swap", "internal/git",
	},
	"client/internal/dotgit": {
		"client/unpack", "internal/archive/attributes", "internal/archive/checkout", "internal/archive/convert",
		"internal/base/filenames", "internal/base/swap", "internal/git", "internal/git/gitconfig", "internal/git/objects/object",
	},
	"client/internal/retry": {},
	"client/unpack":         {"internal/base/filenames", "internal/base/swap"},

	"internal/commands/cli":         {"internal/git/quoting", "internal/tools/spelling"},
	"internal/commands/credentials": {},
	"internal/commands/remote": {
		"client", "client/checkout", "client/unpack", "internal/base/loopback", "internal/commands/cli",
		"internal/commands/credentials", "internal/git/quoting", "internal/operate/clientconfig",
	},

	"internal/operate/admin":        {"internal/base/weborigin", "internal/git", "internal/repos"},
	"internal/operate/audit":        {"internal/access", "internal/httpx", "internal/mcp", "internal/resources"},
	"internal/operate/clientconfig": {"internal/tools/spelling"},
	"internal/operate/doctor": {
		"internal/access/limits", "internal/access/oauth", "internal/access/rules", "internal/access/tokens",
		"internal/base/loopback", "internal/base/panics", "internal/cache", "internal/git", "internal/links",
		"internal/operate/refresh", "internal/repos", "internal/resources/skills", "internal/resources/uploadpack",
	},
	"internal/operate/metrics": {
		"internal/access/limits", "internal/base/workers", "internal/cache", "internal/git", "internal/httpx",
		"internal/mcp", "internal/operate/refresh", "internal/repos", "internal/resources/skills", "internal/watch",
	},
	"internal/operate/refresh": {
		"internal/base/panics", "internal/base/processes", "internal/git", "internal/repos",
	},
	"internal/operate/statuspage": {
		"internal/access", "internal/git", "internal/git/quoting", "internal/operate/clientconfig", "internal/repos",
	},
	"internal/operate/telemetry": {"internal/httpx", "internal/mcp", "internal/resources"},

	"internal/httpx": {
		"internal/access", "internal/access/limits", "internal/base/loopback", "internal/base/panics",
		"internal/base/ticks", "internal/base/weborigin", "internal/httpx/conns", "internal/links",
		"internal/mcp", "internal/mcp/attachments", "internal/mcp/binary", "internal/mcp/duplex",
		"internal/resources", "internal/resources/uploadpack",
	},
	"internal/httpx/conns": {"internal/access/limits"},

	"internal/tools": {
		"internal/access/limits", "internal/archive", "internal/base/lru", "internal/git",
		"internal/git/definitions", "internal/git/diff", "internal/git/history", "internal/git/lfs",
		"internal/git/mailmap", "internal/git/patch", "internal/git/quoting",
		"internal/mcp/attachments", "internal/mcp/binary", "internal/repos", "internal/resources",
		"internal/search", "internal/search/index", "internal/search/pattern", "internal/tools/arguments",
		"internal/tools/cursor",
		"internal/tools/dates", "internal/tools/excerpt", "internal/tools/glob", "internal/tools/spelling",
	},
	"internal/tools/arguments": {"internal/git/quoting", "internal/tools/spelling"},
	"internal/tools/cursor":    {"internal/git"},
	"internal/tools/dates":     {},
	"internal/tools/excerpt":   {"internal/git/diff", "internal/git/quoting"},
	"internal/tools/glob":      {"internal/git/wildmatch"},
	"internal/tools/prompts":   {},
	"internal/tools/spelling":  {"internal/git/quoting"},

	"internal/mcp": {
		"internal/access", "internal/access/limits", "internal/archive", "internal/git", "internal/git/newest",
		"internal/git/patch", "internal/links", "internal/mcp/attachments", "internal/mcp/binary", "internal/repos",
		"internal/resources", "internal/resources/skills", "internal/watch",
	},
	"internal/mcp/attachments": {"internal/mcp/binary", "internal/resources"},
	"internal/mcp/binary":      {},
	"internal/mcp/duplex": {
		"internal/access/limits", "internal/base/panics", "internal/mcp", "internal/mcp/attachments",
		"internal/mcp/binary", "internal/resources",
	},
	"internal/mcp/stdio": {"internal/base/panics", "internal/mcp", "internal/mcp/binary", "internal/mcp/duplex"},

	"internal/watch": {
		"internal/access", "internal/base/panics", "internal/git", "internal/repos", "internal/resources",
		"internal/resources/skills",
	},

	"internal/resources": {
		"internal/access", "internal/access/limits", "internal/archive", "internal/base/lru",
		"internal/base/span", "internal/cache", "internal/git", "internal/git/history", "internal/git/patch",
		"internal/git/quoting", "internal/links", "internal/repos",
	},
	"internal/resources/skills": {
		"internal/access/limits", "internal/base/lru", "internal/base/panics", "internal/git", "internal/git/lfs",
		"internal/git/quoting", "internal/git/wildmatch", "internal/repos",
	},
	"internal/resources/uploadpack": {
		"internal/access/limits", "internal/base/folderlock", "internal/base/lru", "internal/base/processes",
		"internal/git", "internal/repos",
	},

	"internal/search": {
		"internal/access", "internal/base/lru", "internal/base/workers", "internal/git", "internal/git/diff",
		"internal/git/wildmatch", "internal/repos", "internal/search/index", "internal/search/language",
		"internal/search/pattern", "internal/search/rank", "internal/git/definitions",
	},
	"internal/search/index": {
		"internal/base/lru", "internal/base/workers", "internal/cache", "internal/git", "internal/git/definitions",
		"internal/git/diff", "internal/repos", "internal/search/language", "internal/search/pattern",
		"internal/search/rank",
	},
	"internal/search/language": {},
	"internal/search/pattern":  {},
	"internal/search/rank":     {"internal/search/pattern"},

	"internal/archive": {
		"internal/access", "internal/archive/attributes", "internal/archive/checkout", "internal/archive/compress/gzip",
		"internal/archive/compress/xz", "internal/archive/compress/zstd", "internal/archive/content",
		"internal/archive/delta", "internal/archive/pathspec", "internal/archive/tar", "internal/archive/tree",
		"internal/archive/zip", "internal/base/lru", "internal/base/span", "internal/base/spill", "internal/base/workers",
		"internal/git", "internal/git/lfs", "internal/git/pretty",
	},
	"internal/archive/attributes": {"internal/git/quoting", "internal/git/wildmatch"},
	"internal/archive/checkout": {
		"internal/archive/compress/gzip", "internal/archive/tar", "internal/archive/tree", "internal/base/spill",
		"internal/base/workers", "internal/git",
	},
	"internal/archive/compress/blocks":       {"internal/access", "internal/base/workers"},
	"internal/archive/compress/compresstest": {"internal/base/panics", "internal/base/workers"},
	"internal/archive/compress/gzip":         {"internal/archive/compress/blocks", "internal/base/workers"},
	"internal/archive/compress/xz":           {"internal/archive/compress/blocks", "internal/base/workers"},
	"internal/archive/compress/zstd":         {"internal/archive/compress/blocks", "internal/base/workers"},
	"internal/archive/content": {
		"internal/archive/convert", "internal/archive/tree", "internal/git", "internal/git/lfs",
		"internal/git/pretty", "internal/git/subst",
	},
	"internal/archive/convert":  {"internal/archive/attributes", "internal/git/charset"},
	"internal/archive/delta":    {"internal/archive/tree", "internal/git"},
	"internal/archive/pathspec": {"internal/git/wildmatch"},
	"internal/archive/tar":      {"internal/git"},
	"internal/archive/tree": {
		"internal/archive/attributes", "internal/archive/convert", "internal/archive/pathspec",
		"internal/base/filenames", "internal/git", "internal/git/pretty",
	},
	"internal/archive/zip": {"internal/archive/compress/gzip", "internal/base/workers"},

	"internal/cache": {
		"internal/base/folderlock", "internal/base/loopback", "internal/base/panics", "internal/base/span",
		"internal/base/ticks",
	},
	"internal/cache/cachetest": {},

	"internal/links": {"internal/base/loopback", "internal/base/operatorfile"},

	"internal/access":        {},
	"internal/access/limits": {"internal/access"},
	"internal/access/oauth": {
		"internal/access", "internal/base/loopback", "internal/base/panics", "internal/base/ticks",
	},
	"internal/access/oauth/issuertest": {},
	"internal/access/rules": {
		"internal/access", "internal/base/lru", "internal/base/operatorfile", "internal/git/wildmatch",
	},
	"internal/access/tokens": {"internal/access", "internal/base/operatorfile"},

	"internal/repos": {
		"internal/base/ticks", "internal/git", "internal/git/objects", "internal/git/objects/files",
		"internal/repos/quarantine", "internal/repos/stamp",
	},
	"internal/repos/quarantine": {"internal/base/panics"},
	"internal/repos/repostest":  {"internal/git", "internal/repos"},
	"internal/repos/stamp":      {"internal/git/objects/files"},

	"internal/git": {
		"internal/base/filenames", "internal/base/lru", "internal/base/panics", "internal/git/charset",
		"internal/git/commitgraph", "internal/git/gitconfig", "internal/git/message", "internal/git/objects", "internal/git/objects/files",
		"internal/git/reftable",
	},
	"internal/git/binarypatch": {},
	"internal/git/charset":     {"internal/git/message"},
	"internal/git/commitgraph": {},
	"internal/git/definitions": {},
	"internal/git/diff":        {},
	"internal/git/gitconfig":   {},
	"internal/git/history": {
		"internal/base/lru", "internal/git", "internal/git/binarypatch", "internal/git/charset", "internal/git/commitgraph",
		"internal/git/diff", "internal/git/mailmap", "internal/git/message", "internal/git/newest",
		"internal/git/quoting",
	},
	"internal/git/inflate": {},
	"internal/git/lfs":     {},
	"internal/git/mailmap": {"internal/git", "internal/git/message"},
	"internal/git/message": {},
	"internal/git/newest":  {},
	"internal/git/objects": {
		"internal/base/spill", "internal/git/gitconfig", "internal/git/objects/files", "internal/git/objects/loose",
		"internal/git/objects/object", "internal/git/objects/pack",
	},
	"internal/git/objects/files": {"internal/git/objects/object"},
	"internal/git/objects/loose": {
		"internal/git/inflate", "internal/git/objects/files", "internal/git/objects/object",
	},
	"internal/git/objects/object": {"internal/base/lru", "internal/base/panics", "internal/git/inflate"},
	"internal/git/objects/pack": {
		"internal/base/lru", "internal/base/panics", "internal/base/spill", "internal/git/inflate",
		"internal/git/objects/files", "internal/git/objects/object",
	},
	"internal/git/objects/packtest": {"internal/git/objects/object", "internal/gittest"},
	"internal/git/patch": {
		"internal/git", "internal/git/binarypatch", "internal/git/history", "internal/git/pretty", "internal/git/quoting",
	},
	"internal/git/pretty": {
		"internal/git", "internal/git/charset", "internal/git/mailmap", "internal/git/message",
		"internal/git/newest", "internal/git/wildmatch",
	},
	"internal/git/quoting":      {},
	"internal/git/reftable":     {},
	"internal/git/snapshottest": {"internal/git"},
	"internal/git/subst":        {"internal/git/pretty"},
	"internal/git/wildmatch":    {},

	"internal/gittest": {},
	"internal/logtest": {"internal/gittest"},

	"internal/base/filenames":             {},
	"internal/base/folderlock":            {},
	"internal/base/loopback":              {},
	"internal/base/lru":                   {},
	"internal/base/operatorfile":          {},
	"internal/base/operatorfile/filetest": {"internal/base/operatorfile"},
	"internal/base/panics":                {},
	"internal/base/processes":             {},
	"internal/base/span":                  {},
	"internal/base/spill":                 {},
	"internal/base/swap":                  {},
	"internal/base/ticks":                 {},
	"internal/base/weborigin":             {},
	"internal/base/workers":               {"internal/base/panics"},

	"deploy/mcpb":     {},
	"deploy/registry": {},

	"bench": {
		"internal/base/workers", "internal/git", "internal/git/history", "internal/repos", "internal/search",
		"internal/search/pattern",
	},
}

// floors are the rooms of the house, the lowest first. A package may import its own room and those
// below it. Of two rooms that a package could be in, the longer name counts: mcp/binary is a floor of
// its own, since the client and the server share this format of bytes beside messages.
var floors = []string{
	"internal/base", "internal/gittest", "internal/logtest", "internal/git", "internal/repos", "internal/access",
	"internal/cache", "internal/links", "internal/archive", "internal/search", "internal/mcp/binary", "internal/resources",
	"internal/watch", "internal/mcp", "internal/tools", "internal/httpx", "internal/operate", "client",
	"internal/commands", "cmd", "bench", "deploy",
}

// floorOf returns the place of a package's room among the floors, or -1.
func floorOf(name string) int {
	found := -1
	for i, room := range floors {
		if (name == room || strings.HasPrefix(name, room+"/")) && (found < 0 || len(room) > len(floors[found])) {
			found = i
		}
	}
	return found
}

func TestNoArrowLeadsUpwards(t *testing.T) {
	inhabited := make(map[int]bool)
	for name, imported := range arrows {
		floor := floorOf(name)
		if floor < 0 {
			t.Errorf("package %s is in none of the rooms", name)
			continue
		}
		inhabited[floor] = true
		for _, other := range imported {
			if floorOf(other) > floor {
				t.Errorf("%s imports %s, whose room %s is above %s", name, other, floors[floorOf(other)], floors[floor])
			}
		}
	}
	for i, room := range floors {
		if !inhabited[i] {
			t.Errorf("the room %s has no packages", room)
		}
	}
}

// fences say which packages may import a library, by the beginning of its
// path. Tests are free to.
var fences = map[string][]string{
	"github.com/labstack/echo":    {"internal/httpx"},
	"github.com/coder/websocket":  {"client", "internal/httpx"},
	"github.com/mark3labs/mcp-go": {"internal/mcp", "internal/tools", "internal/tools/prompts"},
	"github.com/go-git":           {"client/internal/dotgit", "internal/git", "internal/archive/checkout", "internal/httpx", "bench"},
	"github.com/klauspost": {"client/internal/dotgit", "client/unpack", "internal/archive/compress/gzip",
		"internal/archive/compress/zstd", "internal/git/binarypatch"},
	"github.com/ulikunitz":      {"internal/archive/compress/xz"},
	"github.com/RoaringBitmap":  {"internal/search/index"},
	"github.com/blevesearch":    {"internal/search/rank"},
	"github.com/redis":          {"cmd/repomcp", "internal/cache", "internal/operate/doctor", "internal/links"},
	"github.com/fsnotify":       {"internal/watch"},
	"github.com/sony/gobreaker": {"internal/cache", "internal/links"},
	"github.com/minio":          {"internal/cache"},
	"gocloud.dev":               {"internal/cache"},
	"github.com/spf13":          {"cmd/repomcp", "internal/commands/cli", "internal/commands/remote"},
	"go.yaml.in":                {"internal/access/rules", "internal/commands/cli", "internal/operate/clientconfig", "internal/resources/skills"},
	"github.com/tailscale":      {"internal/operate/clientconfig"},
	"github.com/pelletier":      {"internal/operate/clientconfig"},
	"github.com/schollz":        {"internal/commands/remote"},
	"os/exec": {"client", "internal/archive/compress/compresstest", "internal/gittest", "internal/operate/refresh",
		"internal/base/processes", "internal/resources/uploadpack", "bench"},
	"unsafe": {},
	"net/http": {"client", "internal/access/oauth", "internal/access/oauth/issuertest",
		"internal/operate/admin", "internal/operate/audit", "internal/operate/doctor", "internal/httpx", "internal/httpx/conns",
		"internal/operate/metrics", "internal/operate/refresh", "internal/operate/telemetry", "bench"},
	"github.com/prometheus":        {"internal/operate/metrics", "internal/operate/telemetry"},
	"go.opentelemetry.io":          {"internal/operate/telemetry"},
	"github.com/KimMachineGun":     {"internal/access/limits"},
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
	used := make(map[string]bool) // "package import"
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
			used[name+" "+strings.TrimPrefix(imported, module)] = true
			for library, users := range fences {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && !slices.Contains(users, name) {
					t.Errorf("%s may not import %s", name, imported)
				}
				if imported == library || strings.HasPrefix(imported, library+"/") {
					used[name+" "+library] = true
				}
			}
		}
	}
	for name, allowed := range arrows {
		refuseUnused(t, used, name, allowed)
	}
	for library, users := range fences {
		for _, name := range users {
			refuseUnused(t, used, name, []string{library})
		}
	}
	if seen < len(arrows) {
		t.Errorf("%d packages were looked at, the table has %d", seen, len(arrows))
	}
}

// refuseUnused holds the tables to what there is: an import that is allowed and that nothing uses
// says something false.
func refuseUnused(t *testing.T, used map[string]bool, name string, allowed []string) {
	t.Helper()
	for _, imported := range allowed {
		if !used[name+" "+imported] {
			t.Errorf("%s may import %s and does not", name, imported)
		}
	}
}

// viewless are the packages that may reach a repository past the view of a principal: the operator's
// own work, and the user's own clones.
var viewless = []string{"client/internal/dotgit", "cmd/repomcp", "internal/operate/admin", "internal/operate/doctor", "internal/operate/metrics", "internal/watch",
	"internal/repos", "internal/repos/repostest", "bench"}

// Packages that serve clients get repos.Views, so that they cannot forget the rights of a principal.
func TestVisitorsReachRepositoriesByTheirViews(t *testing.T) {
	past := regexp.MustCompile(`\brepos\.(Catalogue|Open)\b|\bgit\.(NewStore|Store)\b`)
	looked := 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		reaches := slices.Contains(p.Imports, module+"internal/repos") || slices.Contains(p.Imports, module+"internal/git")
		if !reaches || slices.Contains(viewless, name) || strings.HasPrefix(name, "internal/git/") {
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
