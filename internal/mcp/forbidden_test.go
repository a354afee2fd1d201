package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
)

// hiddenName is a repository that only the insider may know of, and absentName does not exist: names of one length,
// as far from all other names.
const (
	hiddenName = "team/rooma"
	absentName = "team/roomz"
	insider    = "insider"
)

// probe is a request about a repository, with a %s where its name is to be.
type probe struct{ method, params string }

// references are what completion/complete takes for variables: the template or the prompt that has each.
func references() map[string]string {
	template := func(uri string) string { return `{"type":"ref/resource","uri":"` + uri + `"}` }
	archives := template(archiveTemplate())
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
	add(MethodReadDirectory, `{"uri":"repo://%s@"}`, uris...)
	add(MethodSkillsGet, `{"uri":"repo://%s@/SKILL.md"}`, "", "/contents", "/contents/skills/teach",
		"/refs/heads/main/contents/skills/teach", "/sha/"+commit+"/contents/skills/teach", "/contents/none")
	for _, method := range []string{MethodRead, MethodStream, "resources/subscribe", MethodReadDirectory, MethodSkillsGet} {
		add(method, `{"uri":"skill://%s@"}`, "", "/SKILL.md", "/skills/teach", "/skills/teach/SKILL.md", "/none/SKILL.md",
			"/inner", "?after=a")
	}
	add(MethodSkillsList, `{}`, "")
	add(MethodSkillsList, `{"cursor":"@"}`, "skills:%s")
	add(MethodStream, `{"uri":"repo://%s@"}`, uris...)
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

// named returns the parameters of a probe for a repository. Its name is encoded in a cursor.
func (p probe) named(t *testing.T, name string) (params map[string]any) {
	t.Helper()
	text := strings.ReplaceAll(p.params, "%s", name)
	for form, prefix := range map[string]string{`"cursor:%s"}`: cursorPrefix, `"skills:%s"}`: skillsPrefix} {
		if before, ok := strings.CutSuffix(p.params, form); ok {
			text = before + `"` + base64.StdEncoding.EncodeToString([]byte(prefix+name)) + `"}`
		}
	}
	if err := json.Unmarshal([]byte(text), &params); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return params
}

// changing are the parts of a reply that differ from one time to the next.
var changing = regexp.MustCompile(`/dl/[A-Za-z0-9_-]+|ExpiresAt":"[^"]+|credentials until [^:]+:[^:]+:[^:]+`)

// buildRooms makes a repository that outsiders may not know of, one that has it as a submodule, and one below it.
func buildRooms(t *testing.T, root string) (commit string) {
	t.Helper()
	hidden := gittest.At(t, filepath.Join(root, hiddenName+".git"))
	hidden.Commit("main", gittest.Regular("README.md", "the first secret\n"))
	hidden.Git("tag", "-a", "-m", "secret tag", "v1", "main")
	commit = hidden.Commit("main", gittest.Regular("README.md", "secret\n"), gittest.Regular("folder/a", "secret\n"),
		gittest.Regular("skills/teach/SKILL.md", "---\nname: teach\ndescription: secret\n---\n"))
	gittest.At(t, filepath.Join(root, "open/main.git")).Commit(
		"main", gittest.Regular(".gitmodules", "[submodule \"a\"]\npath = lib\nurl = ../../"+hiddenName+".git\n"),
		gittest.Gitlink("lib", commit), gittest.Regular("README.md", "open\n"))
	for _, name := range []string{hiddenName + "/inner", absentName + "/inner"} {
		gittest.At(t, filepath.Join(root, name+".git")).Commit("main", gittest.Regular("README.md", "inner\n"))
	}
	return commit
}

// visibleRooms lets outsiders know of the folder open alone.
func visibleRooms(ctx context.Context) func(name string) bool {
	if access.PrincipalOf(ctx).ID == insider {
		return nil
	}
	return func(name string) bool { return strings.HasPrefix(name, "open/") }
}

// TestForbiddenIsUnknown compares the replies about a repository that a client may not know of with those about none,
// for all methods and all tools, by requests and over a connection, also when the repository is damaged.
func TestForbiddenIsUnknown(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for name, damaged := range map[string]bool{"sound": false, "quarantined": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commit := ""
			s := newLocal(t, localOptions{tools: true, links: linked(t), repos: repos.Options{Visible: visibleRooms},
				build: func(root string) { commit = buildRooms(t, root) }})
			outside, inside := s.visitor(t, "outsider"), s.visitor(t, insider)
			if damaged {
				destroyObjects(t, filepath.Join(s.root, hiddenName+".git"))
				archived := probe{MethodRead, `{"uri":"repo://%s/archive/main.tar"}`}
				gittest.Await(t, "the quarantine", func() bool {
					reply, _ := inside.ask(t, modernVersion, archived, hiddenName)
					return strings.Contains(reply, `"quarantined":true`)
				})
			}
			compared, told, tools := 0, 0, map[string]bool{}
			for _, version := range eras {
				for _, p := range messageProbes(commit) {
					forbidden, forbiddenOver := outside.ask(t, version, p, hiddenName)
					unknown, unknownOver := outside.ask(t, version, p, absentName)
					if forbidden != unknown || forbiddenOver != unknownOver {
						t.Errorf("%s, %v:\nforbidden %.400s\n%.400s\n\nunknown %.400s\n%.400s", version, p, forbidden,
							forbiddenOver, unknown, unknownOver)
					}
					compared++
					if known, over := inside.ask(t, version, p, hiddenName); known != unknown && over != unknownOver {
						told++
						if tool, ok := p.named(t, hiddenName)["name"].(string); ok {
							tools[tool] = true
						}
					}
				}
			}
			// The insider gets other answers, which shows that the probes can tell.
			if compared < 550 || told < compared/3 || len(tools) != 14 {
				t.Errorf("%d replies were compared; the insider gets others for %d, of the tools %v", compared, told, tools)
			}
		})
	}
}

// destroyObjects makes all objects of a mirror unreadable.
func destroyObjects(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "objects"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return errors.Join(os.Chmod(name, 0o600), os.WriteFile(name, []byte("no object"), 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
}
