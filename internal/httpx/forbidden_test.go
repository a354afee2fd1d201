package httpx_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// hiddenName is of a repository that the visitor may not know of, and absentName of
// none: texts of one length, as far from all other names.
const (
	hiddenName = "team/rooma"
	absentName = "team/roomz"
)

// probe is a request about a repository, with a %s where its name is to be.
type probe struct {
	verb, path string // of plain downloads
	header     http.Header
	method     string // of MCP
	params     string // as JSON
}

func (p probe) String() string { return p.verb + p.path + p.method + " " + p.params }

// plainProbes are all plain routes.
func plainProbes(commit, tag string) (list []probe) {
	paths := []string{
		"/refs/%s", "/refs/%s?all=1", "/refs/%s.git", "/refs/%s/x", "/refs/%s?after=refs/heads/a", "/refs/%s/inner",
		"/raw/%s", "/raw/%s/", "/raw/%s/main", "/raw/%s/main/README.md", "/raw/%s/HEAD/README.md",
		"/raw/%s.git/main/README.md",
		"/raw/%s/v1/README.md", "/raw/%s/refs/heads/main/README.md", "/raw/%s/main/folder", "/raw/%s/main/none",
		"/raw/%s/none/README.md", "/raw/%s/" + commit + "/README.md", "/raw/%s/" + commit[:9] + "/README.md",
		"/raw/%s/main~1/README.md",
		"/raw/%s/inner/main/README.md", "/archive/%s", "/archive/%s/", "/archive/%s/main", "/archive/%s/main.rar",
		"/archive/%s/main.tar.gz?nonsense=1", "/archive/%s/main.tar.gz?path=none", "/archive/%s/main.tar?base=v1",
		"/archive/%s/main.tar?base=" + commit, "/archive/%s/main.tar?base=none",
		"/archive/%s/main.tar?submodules=content",
		"/archive/%s/main.tar?lfs=content", "/archive/%s/main.tar.gz?commit=" + commit, "/archive/%s/none.tar.gz",
		"/archive/%s/" + commit + ".tar.asc", "/archive/%s/v1.tar.gz.asc", "/archive/%s/v1.tar.gz.sha256", "/archive/%s/" + tag + ".tar",
		"/archive/%s/inner/main.tar",
		"/compare/%s/v1...main.diff", "/compare/%s/" + commit + "..main.patch", "/compare/%s/none...main.diff",
		"/compare/%s", "/compare/%s/main", "/compare/%s/inner/main...main.diff", "/commit/%s/main.diff",
		"/commit/%s/" + commit + ".patch", "/commit/%s/none.patch", "/commit/%s/main.txt",
		"/repositories?after=%s", "/%s", "/archive/%s%%2Fmain.tar", "/raw/%s/main/README.md?x=1",
	}
	for _, format := range []string{"tar", "tar.gz", "tgz", "tar.zst", "tar.xz", "zip", "manifest.json"} {
		for _, ref := range []string{"main", "HEAD", "refs/heads/main", "v1", commit, commit[:9]} {
			paths = append(paths, "/archive/%s/"+ref+"."+format)
		}
	}
	for _, path := range paths {
		for _, verb := range []string{http.MethodGet, http.MethodHead} {
			list = append(list, probe{verb: verb, path: path})
		}
	}
	for _, header := range []http.Header{
		{"Range": {"bytes=0-3"}}, {"If-None-Match": {"*"}}, {"If-Match": {`"x"`}},
		{"If-Modified-Since": {"Sun, 22 Nov 2037 00:00:00 GMT"}},
		{"Accept": {"application/json"}}, {"Origin": {"https://evil.example"}}, {"Want-Content-Digest": {"sha-256=1"}},
	} {
		for _, path := range []string{"/raw/%s/main/README.md", "/archive/%s/main.tar", "/refs/%s"} {
			list = append(list, probe{verb: http.MethodGet, path: path, header: header})
		}
	}
	for _, query := range []string{"", "?q=%s", "?q=room&page=2", "?page=%s"} {
		list = append(list, probe{verb: http.MethodGet, path: "/" + query,
			header: http.Header{"Accept": {"text/html"}}})
	}
	return list
}

// references are what completion/complete takes for variables: the template or the prompt that has each.
func references() map[string]string {
	var names []string
	for _, p := range archive.Parameters() {
		if p.Repeat {
			p.Name += "*"
		}
		names = append(names, p.Name)
	}
	template := func(uri string) string { return `{"type":"ref/resource","uri":"` + uri + `"}` }
	archives := template("repo://{+repo}/archive/{+ref}.{format}{?" + strings.Join(names, ",") + "}")
	return map[string]string{
		"head": template("repo://{+repo}/compare/{+base}...{+head}.{form}"),
		"form": template("repo://{+repo}/commit/{+sha}.{form}"),
		"repo": archives, "ref": archives, "base": archives, "path": archives, "exclude": archives, "strip": archives,
		"format": archives, "branch": template("repo://{+repo}/refs/heads/{branch}"),
		"tag": template("repo://{+repo}/refs/tags/{tag}"),
		"sha": template("repo://{+repo}/sha/{sha}/contents{/path*}"), "query": `{"type":"ref/prompt","name":"find_in_code"}`,
	}
}

// messageProbes are all methods of MCP that are about a repository, and all tools.
func messageProbes(commit string) (list []probe) {
	add := func(method, params string, values ...string) {
		for _, value := range values {
			list = append(list, probe{method: method, params: strings.ReplaceAll(params, "@", value)})
		}
	}
	uris := []string{
		"", "/refs", "/refs?all=1", "/refs/heads/main", "/refs/tags/v1", "/refs/heads/none", "/contents",
		"/contents/README.md",
		"/contents/none", "/contents/folder?after=a", "/refs/heads/main/contents/README.md", "/refs/tags/v1/contents",
		"/sha/" + commit + "/contents/README.md", "/sha/" + commit[:9] + "/contents", "/archive/main.tar.gz",
		"/archive/HEAD.zip",
		"/archive/" + commit + ".tar", "/archive/main.rar", "/archive/main.tar?submodules=content",
		"/archive/main.tar?base=v1", "/compare/v1...main.diff", "/compare/v1..main.patch", "/commit/main.diff",
		"/commit/" + commit + ".patch", "/commit/main",
		"/archive/main.manifest.json", "/nonsense", "/inner/contents", ".git/refs",
	}
	add("resources/read", `{"uri":"repo://%s@"}`, uris...)
	add(methodStream, `{"uri":"repo://%s@"}`, uris...)
	add(methodStream, `{"link":true,"uri":"repo://%s@"}`, uris...)
	add("resources/subscribe", `{"uri":"repo://%s@"}`, uris...)
	add("resources/unsubscribe", `{"uri":"repo://%s@"}`, uris...)
	for variable, reference := range references() {
		for _, typed := range []string{"", "m", commit[:4], "%s", "repo:%s"} {
			add("completion/complete", fmt.Sprintf(`{"ref":%s,"argument":{"name":%q,"value":"@"},`+
				`"context":{"arguments":{"repo":"%%s"}}}`, reference, variable), typed)
		}
	}
	add("completion/complete", `{"ref":`+references()["repo"]+`,"argument":{"name":"repo","value":"@"}}`, "%s",
		"room", "team/")
	add("resources/list", `{"cursor":"@"}`, "cursor:%s")
	arguments := map[string][]string{
		"get_repository": {``}, "list_branches": {``, `"page":2`}, "list_tags": {``},
		"get_tag":             {`"tag":"v1"`, `"tag":"none"`},
		"get_repository_tree": {``, `"tree_sha":"` + commit + `"`, `"tree_sha":"main","recursive":true`},
		"get_file_contents":   {`"path":"README.md"`, `"path":"/"`, `"path":"README.md","ref":"none"`},
		"find_files":          {`"query":"readme"`}, "list_commits": {``, `"sha":"` + commit + `"`, `"grep":"secret"`},
		"search_code": {`"query":"secret"`, `"query":"secret","ref":"none"`},
		"get_commit":  {`"sha":"` + commit + `"`, `"sha":"main"`}, "compare_commits": {`"base":"v1","head":"main"`},
		"get_file_blame": {`"path":"README.md"`}, "get_archive_link": {``, `"format":"zip"`, `"submodules":"content"`},
	}
	for tool, variants := range arguments {
		for _, more := range variants {
			for _, name := range []string{"%s", "%s.git", "https://git.example.com/%s", "/%s/", "%s/inner"} {
				if more != "" {
					add("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"repo":"@",%s}}`, tool, more), name)
				} else {
					add("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"repo":"@"}}`, tool), name)
				}
			}
		}
	}
	add("tools/call", `{"name":"search_repositories","arguments":{"query":"@"}}`, "%s", "room", "team", "")
	add("tools/call", `{"name":"search_code","arguments":{"query":"@"}}`, "secret repo:%s", "secret -repo:%s",
		"secret org:team", "secret")
	add("tools/call", `{"name":"get_repository","arguments":{"owner":"@","repo":"%s"}}`, "team", "other", "%s")
	return list
}

// naming gives a probe the name of a repository. In a cursor it is encoded.
func (p probe) naming(name string) probe {
	put := func(text string) string {
		if before, ok := strings.CutSuffix(text, `"cursor:%s"}`); ok {
			return before + `"` + base64.StdEncoding.EncodeToString([]byte("repositories after "+name)) + `"}`
		}
		return strings.ReplaceAll(strings.ReplaceAll(text, "%s", name), "%%", "%")
	}
	p.path, p.params = put(p.path), put(p.params)
	return p
}

func (v *visitor) probe(t *testing.T, version string, p probe) string {
	t.Helper()
	if p.method == "" {
		return v.ask(p.verb, p.path, p.header, nil).same()
	}
	return v.message(version, p.method, decoded(t, p.params)).same()
}

// twoRooms has a repository that the visitor may read, one that it may not, and one
// below that which it may.
func twoRooms(t *testing.T) (build func(root string), commit, tag *string) {
	commit, tag = new(string), new(string)
	return func(root string) {
		hidden := gittest.At(t, filepath.Join(root, hiddenName+".git"))
		hidden.Commit("main", gittest.Regular("README.md", "the first secret\n"))
		hidden.Git("tag", "-a", "-m", "secret tag", "v1", "main")
		*tag = hidden.Git("rev-parse", "v1")
		*commit = hidden.Commit("main", gittest.Regular("README.md", "secret\n"),
			gittest.Regular("folder/a", "secret\n"))
		open := gittest.At(t, filepath.Join(root, "open", "main.git"))
		open.Commit(
			"main", gittest.Regular(".gitmodules", "[submodule \"a\"]\npath = lib\nurl = ../../"+hiddenName+".git\n"),
			gittest.Gitlink("lib", *commit), gittest.Regular("README.md", "open\n"),
		)
		for _, name := range []string{hiddenName + "/inner", absentName + "/inner"} {
			gittest.At(t, filepath.Join(root, name+".git")).Commit("main", gittest.Regular("README.md", "inner\n"))
		}
	}, commit, tag
}

const openRules = `rules:
- anybody: true
  repositories: ["open/*"]
- groups: [guests]
  repositories: ["team/*/inner"]
- principals: [insider]
  repositories: ["**"]
`

func TestForbiddenIsUnknownOnEveryRoute(t *testing.T) {
	t.Parallel()
	build, commit, tag := twoRooms(t)
	w := newWalled(t, openRules, build)
	outside, inside := w.as("outsider"), w.as("insider")
	hidden, absent := strings.NewReplacer(hiddenName, "NAME"), strings.NewReplacer(absentName, "NAME")
	compared, told, tools := 0, 0, map[string]bool{}
	for _, version := range eras {
		probes := messageProbes(*commit)
		if version == modernVersion {
			probes = append(probes, plainProbes(*commit, *tag)...)
		}
		for _, p := range probes {
			forbidden := hidden.Replace(outside.probe(t, version, p.naming(hiddenName)))
			unknown := absent.Replace(outside.probe(t, version, p.naming(absentName)))
			compared++
			if forbidden != unknown {
				t.Errorf("%s, %v:\nforbidden %.400s\n\nunknown %.400s", version, p, forbidden, unknown)
			}
			if hidden.Replace(inside.probe(t, version, p.naming(hiddenName))) != unknown {
				told++
				if p.method == "tools/call" {
					tools[decoded(t, p.params)["name"].(string)] = true
				}
			}
		}
	}
	// The test can tell: who may read gets other answers.
	if compared < 800 || told < compared/2 || len(tools) != 14 {
		t.Errorf("%d replies were compared; to who may read %d are others, of the tools %v", compared, told, tools)
	}
}

func TestWhatIsForbiddenHidesNothingBelowIt(t *testing.T) {
	t.Parallel()
	build, _, _ := twoRooms(t)
	guest := newWalled(t, openRules, build).as("token:guest", "guests")
	replies := func(name string) (list []string) {
		for _, path := range []string{"/raw/%s/main/README.md", "/refs/%s", "/archive/%s/main.tar",
			"/archive/%s/HEAD.zip"} {
			list = append(list, string(guest.get(strings.ReplaceAll(path, "%s", name+"/inner")).body))
		}
		for _, uri := range []string{"repo://%s", "repo://%s/refs", "repo://%s/contents/README.md"} {
			list = append(list, guest.message(sessionVersion, methodRead,
				map[string]any{"uri": strings.ReplaceAll(uri, "%s", name+"/inner")}).same())
		}
		return append(list,
			guest.tool("get_file_contents", map[string]any{"repo": name + "/inner", "path": "README.md"}).same())
	}
	forbidden, absent := replies(hiddenName), replies(absentName)
	for i := range forbidden {
		below, alone := strings.ReplaceAll(forbidden[i], hiddenName, "NAME"), strings.ReplaceAll(absent[i], absentName,
			"NAME")
		if below != alone || strings.Contains(below, "here is no") || strings.Contains(below, `"error"`) {
			t.Errorf("below a forbidden one %.700s\n\nbelow none %.700s", below, alone)
		}
	}
}

func TestForbiddenIsUnknownOverWebSocket(t *testing.T) {
	t.Parallel()
	build, commit, _ := twoRooms(t)
	w := newWalled(t, openRules, build)
	outside, inside := w.as("outsider").connect(), w.as("insider").connect()
	hidden, absent := strings.NewReplacer(hiddenName, "NAME"), strings.NewReplacer(absentName, "NAME")
	compared, told := 0, 0
	for _, version := range eras {
		for _, p := range messageProbes(*commit) {
			call := func(s *socket, name string) string {
				return s.call(encode(envelope(version, p.method, decoded(t, p.naming(name).params)))).raw
			}
			forbidden, unknown := hidden.Replace(call(outside, hiddenName)), absent.Replace(call(outside, absentName))
			if compared++; forbidden != unknown {
				t.Errorf("%s, %v:\nforbidden %.400s\n\nunknown %.400s", version, p, forbidden, unknown)
			}
			if hidden.Replace(call(inside, hiddenName)) != unknown {
				told++
			}
		}
	}
	if compared < 600 || told < compared/3 {
		t.Errorf("%d replies were compared; to who may read %d are others", compared, told)
	}
}

// TestForbiddenIsUnknownInQuarantine checks that a forbidden repository stays unknown when it is damaged
// and quarantined.
func TestForbiddenIsUnknownInQuarantine(t *testing.T) {
	t.Parallel()
	build, commit, tag := twoRooms(t)
	var objects string
	w := newWalled(t, openRules, func(root string) {
		build(root)
		objects = filepath.Join(root, hiddenName+".git", "objects")
	})
	outside, inside := w.as("outsider"), w.as("insider")
	damage := func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return errors.Join(os.Chmod(name, 0o600), os.WriteFile(name, []byte("no object"), 0o600))
	}
	if err := filepath.WalkDir(objects, damage); err != nil {
		t.Fatal(err)
	}
	asked := "/archive/" + hiddenName + "/main.tar"
	for end := time.Now().Add(10 * time.Second); !strings.Contains(string(inside.get(asked).body), "quarantined:"); {
		if time.Now().After(end) {
			t.Fatalf("it is not quarantined: %s", inside.get(asked).body)
		}
	}
	hidden, absent := strings.NewReplacer(hiddenName, "NAME"), strings.NewReplacer(absentName, "NAME")
	compared := 0
	for _, p := range append(plainProbes(*commit, *tag), messageProbes(*commit)...) {
		forbidden := hidden.Replace(outside.probe(t, modernVersion, p.naming(hiddenName)))
		if unknown := absent.Replace(outside.probe(t, modernVersion, p.naming(absentName))); forbidden != unknown {
			t.Errorf("%v:\nforbidden %.400s\n\nunknown %.400s", p, forbidden, unknown)
		}
		compared++
	}
	if compared < 500 {
		t.Errorf("%d replies were compared", compared)
	}
}
