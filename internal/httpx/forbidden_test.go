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

// branches is what completion/complete takes for the variables repo and branch.
const branches = `{"type":"ref/resource","uri":"repo://{+repo}/refs/heads/{branch}"}`

// messageProbes are messages of several kinds; internal/mcp compares the replies to all of them.
func messageProbes() (list []probe) {
	for _, method := range []string{methodRead, methodStream, "resources/subscribe"} {
		for _, uri := range []string{"repo://%s", "repo://%s/contents/README.md", "repo://%s/archive/main.tar.gz"} {
			list = append(list, probe{method: method, params: fmt.Sprintf(`{"uri":%q}`, uri)})
			if method == methodStream {
				list = append(list, probe{method: method, params: fmt.Sprintf(`{"link":true,"uri":%q}`, uri)})
			}
		}
	}
	return append(list,
		probe{method: "completion/complete", params: `{"ref":` + branches +
			`,"argument":{"name":"branch","value":"m"},"context":{"arguments":{"repo":"%s"}}}`},
		probe{method: "resources/list", params: `{"cursor":"cursor:%s"}`},
		probe{method: "tools/call", params: `{"name":"get_file_contents","arguments":{"repo":"%s","path":"README.md"}}`},
		probe{method: "tools/call", params: `{"name":"search_code","arguments":{"query":"secret repo:%s"}}`},
		probe{method: "tools/call", params: `{"name":"get_archive_link","arguments":{"repo":"%s"}}`})
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
	compared, told := 0, 0
	for _, version := range eras {
		probes := messageProbes()
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
			}
		}
	}
	// The insider gets other answers, which shows that the probes can tell.
	if compared < 200 || told < compared/2 {
		t.Errorf("%d replies were compared; the insider gets others for %d", compared, told)
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
	build, _, _ := twoRooms(t)
	w := newWalled(t, openRules, build)
	outside, inside := w.as("outsider").connect(), w.as("insider").connect()
	hidden, absent := strings.NewReplacer(hiddenName, "NAME"), strings.NewReplacer(absentName, "NAME")
	compared, told := 0, 0
	for _, version := range eras {
		for _, p := range messageProbes() {
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
	if compared < 30 || told < compared/3 {
		t.Errorf("%d replies were compared; the insider gets others for %d", compared, told)
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
	gittest.Await(t, "the repository is quarantined", func() bool {
		return strings.Contains(string(inside.get(asked).body), "quarantined:")
	})
	hidden, absent := strings.NewReplacer(hiddenName, "NAME"), strings.NewReplacer(absentName, "NAME")
	compared := 0
	for _, p := range append(plainProbes(*commit, *tag), messageProbes()...) {
		forbidden := hidden.Replace(outside.probe(t, modernVersion, p.naming(hiddenName)))
		if unknown := absent.Replace(outside.probe(t, modernVersion, p.naming(absentName))); forbidden != unknown {
			t.Errorf("%v:\nforbidden %.400s\n\nunknown %.400s", p, forbidden, unknown)
		}
		compared++
	}
	if compared < 180 {
		t.Errorf("%d replies were compared", compared)
	}
}
