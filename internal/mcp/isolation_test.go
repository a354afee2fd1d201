package mcp

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/watch"
)

// tenants is how many principals share a server in the test of their isolation.
const tenants = 50

// Canaries of a tenant: in the name of the repository, and in all that is in it.
const canaryMark = "nest"

func nameOf(tenant int) string { return fmt.Sprintf("team-%02d/nest%02dname", tenant, tenant) }
func bodyOf(tenant int) string { return fmt.Sprintf("nest%02dbody", tenant) }

// nest makes the repositories of all tenants. Each has a branch with the same commit
// as all others, so that what is remembered of that is shared, one of its own, and a
// submodule that is the next tenant's.
func nest(t *testing.T) (build func(root string), heads []string) {
	heads = make([]string, tenants)
	return func(root string) {
		pattern := gittest.At(t, filepath.Join(t.TempDir(), "pattern.git"))
		pattern.Commit("shared", gittest.Regular("common", "common text\n"))
		for i := range heads {
			repo := gittest.Existing(t, filepath.Join(root, nameOf(i)+".git"))
			if err := os.CopyFS(repo.Dir, os.DirFS(pattern.Dir)); err != nil {
				t.Fatal(err)
			}
			repo.WriteFile("description", []byte(bodyOf(i)+"\n"))
			repo.WriteFile("HEAD", []byte("ref: refs/heads/"+bodyOf(i)+"\n"))
			heads[i] = repo.Commit(bodyOf(i), gittest.Regular(bodyOf(i)+"/file", "common "+bodyOf(i)+"\n"))
			repo.SetRef("refs/tags/v"+bodyOf(i), repo.Store("tag", fmt.Sprintf("object %s\ntype commit\ntag v%s\n"+
				"tagger A U Thor <author@example.com> 1700000000 +0000\n\n%s\n", heads[i], bodyOf(i), bodyOf(i))))
		}
		for i := range heads {
			next := (i + 1) % tenants
			repo := gittest.Existing(t, filepath.Join(root, nameOf(i)+".git"))
			repo.Commit("modules",
				gittest.Regular(".gitmodules", "[submodule \"a\"]\npath = lib\nurl = https://x.example/"+nameOf(next)+
					"\n"),
				gittest.Gitlink("lib", heads[next]))
		}
	}, heads
}

func tenantRules() string {
	var text strings.Builder
	text.WriteString("rules:\n")
	for i := range tenants {
		who := fmt.Sprintf("groups: [team-%02d]", i)
		if i%2 == 0 {
			who = fmt.Sprintf("principals: [\"token:%d\"]", i)
		}
		fmt.Fprintf(&text, "- %s\n  repositories: [\"team-%02d/**\"]\n", who, i)
	}
	return text.String()
}

// strays are canaries in an answer that are not the tenant's own, nor in what was asked.
func strays(tenant int, answer []byte, asked string) (found []string) {
	text := slices.Clone(answer)
	if reader, err := gzip.NewReader(bytes.NewReader(answer)); err == nil {
		plain, err := io.ReadAll(reader)
		if err != nil {
			return []string{err.Error()}
		}
		text = plain
	}
	for _, encoded := range bytes.Split(answer, []byte(`"blob":"`))[1:] {
		encoded, _, _ = bytes.Cut(encoded, []byte(`"`))
		plain, err := base64.StdEncoding.DecodeString(string(encoded))
		if err != nil {
			return []string{err.Error()}
		}
		text = append(text, plain...)
	}
	for _, rest := range bytes.Split(text, []byte(canaryMark))[1:] {
		if len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9' { // an echo may have been cut before
			found = append(found, canaryMark+string(rest[:min(len(rest), len("00name"))]))
		}
	}
	return slices.DeleteFunc(found, func(one string) bool {
		return strings.HasPrefix(one, fmt.Sprintf(canaryMark+"%02d", tenant)) || strings.Contains(asked, one)
	})
}

// plainURLs are those of one tenant's repository, whose head is known to all.
func plainURLs(of int, head string) []string {
	return []string{
		"/refs/%s", "/refs/%s?all=1", "/raw/%s/shared/common", "/raw/%s/" + head + "/" + bodyOf(of) + "/file",
		"/archive/%s/HEAD.tar", "/archive/%s/shared.tar", "/archive/%s/shared.tar.gz", "/archive/%s/" + head + ".tar.gz",
		"/archive/%s/modules.tar?submodules=content", "/archive/%s/HEAD.manifest.json",
	}
}

// tenantProbes are messages of one tenant about the repository of one, its own or another's, whose head is known to
// all.
func tenantProbes(of int, head string) (list []probe) {
	for _, uri := range []string{"repo://%s", "repo://%s/refs", "repo://%s/contents", "repo://%s/archive/shared.tar",
		"repo://"} {
		list = append(list, probe{method: MethodRead, params: fmt.Sprintf(`{"uri":%q}`, uri)},
			probe{method: MethodStream, params: fmt.Sprintf(`{"uri":%q}`, uri)})
	}
	branches := `{"type":"ref/resource","uri":"repo://{+repo}/refs/heads/{branch}"}`
	list = append(list,
		probe{method: MethodList, params: `{}`},
		probe{method: MethodComplete,
			params: `{"ref":` + branches + `,"argument":{"name":"repo","value":""}}`},
		probe{method: MethodComplete,
			params: `{"ref":` + branches + `,"argument":{"name":"branch","value":""},"context":{"arguments":{"repo":"%s"}}}`},
	)
	for tool, arguments := range map[string]string{
		"search_repositories": `"query":""`, "get_repository": `"repo":"%s"`, "list_branches": `"repo":"%s"`,
		"list_tags": `"repo":"%s"`,
		"get_tag":   `"repo":"%s","tag":"v` + bodyOf(of) + `"`, "get_repository_tree": `"repo":"%s","recursive":true`,
		"get_file_contents": `"repo":"%s","path":"` + bodyOf(of) + `/file"`, "find_files": `"repo":"%s","query":"file"`,
		"search_code": `"query":"common"`, "list_commits": `"repo":"%s"`, "get_commit": `"repo":"%s","sha":"` + head +
			`"`,
		"compare_commits":  `"repo":"%s","base":"shared","head":"` + head + `"`,
		"get_file_blame":   `"repo":"%s","path":"` + bodyOf(of) + `/file"`,
		"get_archive_link": `"repo":"%s"`,
	} {
		list = append(list, probe{method: "tools/call", params: fmt.Sprintf(`{"name":%q,"arguments":{%s}}`, tool,
			arguments)})
	}
	return list
}

// download returns what a plain URL leads to, with all that is known about it.
func (v *visitor) download(t *testing.T, address string) (answer []byte, failed bool) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(address, "/"), "/")
	rawPath, query, hasQuery := strings.Cut(rest, "?")
	ctx := access.WithPrincipal(t.Context(), v.principal)
	found, failure := v.resources.FindDownload(ctx, resources.Plain(kind), rawPath, query, hasQuery)
	if failure != nil {
		return []byte(failure.Message + fmt.Sprint(failure.Data)), true
	}
	body, err := found.Open(ctx, resources.Want{Method: resources.Get})
	if err == nil {
		answer, err = body.ReadAll(ctx)
	}
	if err != nil {
		t.Errorf("%s: %v", address, err)
	}
	if body.Close() != nil || found.Close() != nil {
		t.Errorf("%s cannot be closed", address)
	}
	if strings.Contains(address, ".gz") {
		return answer, false // strays unpacks it
	}
	return append(answer, fmt.Sprint(found.URI, found.FileName, found.Permalink, found.Frozen, found.Meta)...), false
}

func TestFiftyPrincipalsAreIsolated(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	build, heads := nest(t)
	access := newRules(t, tenantRules())
	disk, err := cache.OpenDisk(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close() }) // its folder is removed
	kept := cache.New(cache.Options{Disk: disk})
	s := newLocal(t, localOptions{tools: true, links: linked(t), cache: kept, build: build,
		repos: repos.Options{Visible: access.rules.Visible}, watch: watch.Options{Total: 100_000}})
	defer s.follow(t)()
	var own, foreign, notified atomic.Int64
	var running, pushed sync.WaitGroup
	for tenant := range tenants {
		v := s.visitor(t, fmt.Sprint("token:", tenant), fmt.Sprintf("team-%02d", tenant))
		next := (tenant + 1) % tenants
		events := v.hear(t, "repo://"+nameOf(tenant), "repo://"+nameOf(next))
		pushed.Go(func() {
			for event := range events {
				switch {
				case strings.Contains(event, nameOf(next)):
					t.Errorf("tenant %d is told of another: %s", tenant, event)
				case strings.Contains(event, nameOf(tenant)):
					notified.Add(1)
					return
				}
			}
		})
		judge := func(of int, asked string, answer []byte, failed bool) {
			if strings.Contains(asked, "modules") { // whose file has the name of the next
				asked += nameOf((of + 1) % tenants)
			}
			if found := strays(tenant, answer, asked); len(found) > 0 {
				t.Errorf("tenant %d, %s: %v of others in %.700s", tenant, asked, found, answer)
			}
			switch mine := bytes.Contains(answer, []byte(fmt.Sprintf("nest%02d", tenant))); {
			case of == tenant && mine && !failed:
				own.Add(1)
			case of != tenant && (failed || bytes.Contains(answer, []byte("here is no"))):
				foreign.Add(1)
			}
		}
		running.Go(func() {
			for _, of := range []int{tenant, next} {
				for _, p := range tenantProbes(of, heads[of]) {
					a := v.do(t, v.asking(t, eras[of%2], p, nameOf(of)))
					judge(of, strings.ReplaceAll(p.params, "%s", nameOf(of)), append(a.body, fmt.Sprint(a.err)...), a.failed())
				}
				for _, form := range append(plainURLs(of, heads[of]), "/repositories", "/repositories?after=%s") {
					address := strings.ReplaceAll(form, "%s", nameOf(of))
					if form == "/repositories?after=%s" {
						address = "/repositories/?after=" + nameOf(of)
					}
					answer, failed := v.download(t, address)
					judge(of, address, answer, failed)
				}
			}
		})
	}
	running.Wait()
	for tenant := range tenants {
		gittest.Existing(t, filepath.Join(s.root, nameOf(tenant)+".git")).Git("update-ref", "refs/heads/pushed",
			heads[tenant])
	}
	pushed.Wait()
	// Most own answers have the canaries, and most others are refusals, which shows that the test can tell.
	if own.Load() < 25*tenants || foreign.Load() < 15*tenants || notified.Load() != tenants {
		t.Errorf("%d own answers, %d refusals, %d notified", own.Load(), foreign.Load(), notified.Load())
	}
	if c := kept.Stats(); c.Hits+c.Shared == 0 || c.Failures > 0 {
		t.Errorf("archives are not shared, or not made for those who may read them: %+v", c)
	}
}
