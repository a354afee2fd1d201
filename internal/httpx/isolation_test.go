package httpx_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
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

// strays are canaries in a reply that are not the tenant's own, nor in what was asked.
func strays(tenant int, a answer, asked string) (found []string) {
	text := slices.Clone(a.body)
	if reader, err := gzip.NewReader(bytes.NewReader(a.body)); err == nil {
		plain, err := io.ReadAll(reader)
		if err != nil {
			return []string{err.Error()}
		}
		text = plain
	}
	var header bytes.Buffer
	if err := a.header.Write(&header); err != nil {
		return []string{err.Error()}
	}
	text = append(text, header.Bytes()...)
	for _, encoded := range bytes.Split(a.body, []byte(`"blob":"`))[1:] {
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

// tenantProbes are requests of one tenant about the repository of one, its own or
// another's, whose head is known to all.
func tenantProbes(of int, head string) (list []probe) {
	for _, path := range []string{
		"/refs/%s", "/refs/%s?all=1", "/raw/%s/shared/common", "/raw/%s/" + head + "/" + bodyOf(of) + "/file",
		"/archive/%s/HEAD.tar",
		"/archive/%s/shared.tar", "/archive/%s/shared.tar.gz", "/archive/%s/" + head + ".tar.gz",
		"/archive/%s/modules.tar?submodules=content",
		"/archive/%s/HEAD.manifest.json", "/repositories", "/repositories?after=%s",
	} {
		list = append(list, probe{verb: http.MethodGet, path: path})
	}
	for _, query := range []string{"", "?q=%s", "?q=team"} {
		list = append(list, probe{verb: http.MethodGet, path: "/" + query,
			header: http.Header{"Accept": {"text/html"}}})
	}
	for _, uri := range []string{"repo://%s", "repo://%s/refs", "repo://%s/contents", "repo://%s/archive/shared.tar",
		"repo://"} {
		list = append(list, probe{method: methodRead, params: fmt.Sprintf(`{"uri":%q}`, uri)},
			probe{method: methodStream, params: fmt.Sprintf(`{"uri":%q}`, uri)})
	}
	list = append(list,
		probe{method: "resources/list", params: `{}`},
		probe{method: "completion/complete",
			params: `{"ref":` + branches + `,"argument":{"name":"repo","value":""}}`},
		probe{method: "completion/complete",
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

func TestFiftyPrincipalsAreIsolated(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	build, heads := nest(t)
	w := newWalled(t, tenantRules(), build)
	watching := follow(t, w.subscriptions, w.catalogue)
	defer watching()
	var own, foreign, notified atomic.Int64
	var running, pushed sync.WaitGroup
	for tenant := range tenants {
		v := w.as(fmt.Sprint("token:", tenant), fmt.Sprintf("team-%02d", tenant))
		next := (tenant + 1) % tenants
		events := v.listen(t, "repo://"+nameOf(tenant), "repo://"+nameOf(next))
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
		running.Go(func() {
			for _, of := range []int{tenant, next} {
				for _, p := range tenantProbes(of, heads[of]) {
					p := p.naming(nameOf(of))
					var a answer
					if p.method == "" {
						a = v.ask(p.verb, p.path, p.header, nil)
					} else {
						var params map[string]any
						if err := json.Unmarshal([]byte(p.params), &params); err != nil {
							t.Error(err)
						}
						a = v.message(eras[of%2], p.method, params)
					}
					asked := p.path + p.params
					if strings.Contains(asked, "modules") { // whose file has the name of the next
						asked += nameOf((of + 1) % tenants)
					}
					if found := strays(tenant, a, asked); len(found) > 0 || a.err != nil {
						t.Errorf("tenant %d, %v: %v of others, %v in %.700s", tenant, p, found, a.err, a.body)
					}
					switch mine := bytes.Contains(a.body, []byte(fmt.Sprintf("nest%02d", tenant))); {
					case of == tenant && mine && a.status == http.StatusOK:
						own.Add(1)
					case of != tenant && (a.status >= http.StatusBadRequest ||
						bytes.Contains(a.body, []byte("here is no"))):
						foreign.Add(1)
					}
				}
			}
		})
	}
	running.Wait()
	for tenant := range tenants {
		gittest.Existing(t, filepath.Join(w.root, nameOf(tenant)+".git")).Git("update-ref", "refs/heads/pushed",
			heads[tenant])
	}
	pushed.Wait()
	// The test can tell: most own replies have the canaries, and most others are refusals.
	if own.Load() < 25*tenants || foreign.Load() < 15*tenants || notified.Load() != tenants {
		t.Errorf("%d own replies, %d refusals, %d notified", own.Load(), foreign.Load(), notified.Load())
	}
	if c := w.cache.Stats(); c.Hits+c.Shared == 0 || c.Failures > 0 {
		t.Errorf("archives are not shared, or not made for those who may read them: %+v", c)
	}
}

// listen has subscriptions/listen tell of resources, and of the list.
func (v *visitor) listen(t *testing.T, uris ...string) <-chan string {
	t.Helper()
	body := encode(envelope(modernVersion, "subscriptions/listen", map[string]any{
		"notifications": map[string]any{"resourceSubscriptions": uris, "resourcesListChanged": true},
	}))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {acceptBoth}, "Mcp-Protocol-Version": {modernVersion},
		"Mcp-Method": {"subscriptions/listen"}, headerPrincipal: {v.who()},
	}
	return v.stream(t, request)
}

// stream reads the messages of an event stream, but for what says that it has begun.
func (v *visitor) stream(t *testing.T, request *http.Request) <-chan string {
	t.Helper()
	response, err := v.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() }) // ends the stream
	messages := make(chan string, 100)
	go func() {
		defer close(messages)
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && !strings.Contains(data, "acknowledged") {
				messages <- data
			}
		}
	}()
	return messages
}

// nothingWithin fails when a client is told of something it may not know of, for a
// while in which it would have been.
func nothingWithin(t *testing.T, events <-chan string, wait time.Duration) {
	t.Helper()
	select {
	case event := <-events:
		t.Errorf("a client was told: %s", event)
	case <-time.After(wait):
	}
}
