package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/logtest"
	"github.com/repomcp/repomcp/internal/resources"
)

// buildSound makes repositories that are odd and in which nothing is damaged. It returns revisions to ask each for.
func buildSound(t *testing.T, root string) (revisions map[string][]string) {
	t.Helper()
	at := func(name string) *gittest.Repo { return gittest.At(t, filepath.Join(root, name+".git")) }
	lib := at("lib")
	lib.Commit("main", gittest.Regular("lib.txt", "of lib\n"))
	odd := oddRepository(t, at("odd"), lib.Git("rev-parse", "main"))
	odd.Git("commit-graph", "write", "--reachable", "--changed-paths")
	at("empty")
	at("unborn").Commit("other", gittest.Regular("f", "x"))
	detached := at("detached")
	detached.Commit("main", gittest.Regular("f", "1"))
	detached.Git("update-ref", "--no-deref", "HEAD", detached.Git("rev-parse", "main"))
	clone := func(name string, arguments ...string) {
		odd.Git(append(append([]string{"clone", "-q", "--bare"}, arguments...), "file://"+odd.Dir,
			filepath.Join(root, name+".git"))...)
	}
	clone("shallow", "--depth=1")
	clone("whole", "--mirror")
	at("borrowing").WriteFile("objects/info/alternates", []byte("../../odd.git/objects\n"))
	gittest.Existing(t, filepath.Join(root, "borrowing.git")).Git("fetch", "-q", odd.Dir, "refs/*:refs/*")
	hiding := filepath.Join(root, "whole.git")
	gittest.Existing(t, hiding).Git("config", "transfer.hideRefs", "refs/heads/feature")

	revisions = make(map[string][]string)
	for _, name := range []string{"odd", "shallow", "whole", "borrowing", "unborn", "detached", "empty"} {
		revisions[name] = revisionsOf(gittest.Existing(t, filepath.Join(root, name+".git")))
	}
	return revisions
}

// oddRepository has tags of everything, files of every kind, and a history.
func oddRepository(t *testing.T, r *gittest.Repo, module string) *gittest.Repo {
	t.Helper()
	content := "content of lfs\n"
	oid := sha256.Sum256([]byte(content))
	name := hex.EncodeToString(oid[:])
	r.WriteFile("lfs/objects/"+name[:2]+"/"+name[2:4]+"/"+name, []byte(content))
	pointer := func(oid string, size int) string {
		return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, size)
	}
	files := []gittest.File{
		gittest.Regular("README.md", "hello\n"), gittest.Regular("empty", ""), gittest.Regular("dir/sub/file", "deep\n"),
		gittest.Executable("run.sh", "#!/bin/sh\n"), gittest.Symlink("link", "dir/sub/file"), gittest.Symlink("dangling", "../no"),
		gittest.Gitlink("module", module), gittest.Gitlink("unknown", strings.Repeat("12", 20)),
		gittest.Regular(".gitmodules", "[submodule \"m\"]\n\tpath = module\n\turl = ../lib.git\n"),
		gittest.Regular(".gitattributes", "*.bin filter=lfs\nversion export-subst\ndropped export-ignore\n*.crlf eol=crlf\n"+
			"*.enc working-tree-encoding=none-such\n"),
		gittest.Regular("there.bin", pointer(name, len(content))),
		gittest.Regular("absent.bin", pointer(strings.Repeat("ab", 32), 5)),
		gittest.Regular("version", "$Format:%H %d %(describe)$\n"), gittest.Regular("dropped", "x"),
		gittest.Regular("a.crlf", "a\nb\n"), gittest.Regular("a.enc", "x\n"), gittest.Regular("large", gittest.Noise(300_000)),
	}
	r.Commit("main", files[:4]...)
	r.Git("repack", "-adq")
	r.Commit("feature", gittest.Regular("README.md", "of feature\n"))
	head := r.Commit("main", files...)
	merge := r.Git("commit-tree", "-p", head, "-p", "refs/heads/feature", "-m", "merge", head+"^{tree}")
	r.Git("update-ref", "refs/heads/main", merge)
	tag := func(name, id, kind string) string {
		id = r.GitInput(fmt.Appendf(nil, "object %s\ntype %s\ntag %s\ntagger A <a@b.c> 1600000000 +0000\n\n%s\n",
			id, kind, name, name), "mktag")
		r.SetRef("refs/tags/"+name, id)
		return id
	}
	for kind, id := range map[string]string{
		"commit": merge, "tree": r.Git("rev-parse", merge+":dir"), "blob": r.Git("rev-parse", merge+":README.md"),
	} {
		r.SetRef("refs/tags/light-"+kind, id)
		tag("twice-"+kind, tag("annotated-"+kind, id, kind), "tag")
	}
	r.SetRef("refs/heads/folder", r.Git("rev-parse", merge)) // beside tags of folders
	r.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	r.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	r.SetRef("refs/remotes/origin/main", head)
	r.Git("symbolic-ref", "refs/heads/nowhere", "refs/heads/gone")
	r.Git("update-ref", "refs/keep-around/x", r.Git("commit-tree", "-m", "hidden", merge+"^{tree}"))
	r.Git("notes", "--ref=signatures/tar", "add", "-m", "signed", merge)
	r.Git("pack-refs", "--all")
	return r
}

// revisionsOf are the names of all refs, the ids of all objects, what they are cut to,
// and what is not there.
func revisionsOf(r *gittest.Repo) []string {
	revisions := []string{"HEAD", "@", "HEAD~1", "main^2", "main~99", "main^{tree}", "main^{blob}", "main^{}",
		"annotated-blob^{}", "annotated-tree^{tree}", "twice-blob^{blob}", "light-tree^{tree}", "nothing", "heads/none",
		"refs/tags/none", strings.Repeat("0", 40), strings.Repeat("ab", 20), "abcd", "v1-1-gabcdef0"}
	names := r.Git("for-each-ref", "--format=%(refname) %(refname:short) %(refname:strip=2)")
	revisions = append(revisions, strings.Fields(names)...)
	for i, id := range strings.Fields(r.Git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")) {
		revisions = append(revisions, id, id[:4+i%20])
	}
	slices.Sort(revisions)
	return slices.Compact(revisions)
}

// soundness counts what was asked, and judges each answer.
type soundness struct {
	*local
	log        *logtest.Log
	connection connected
	read       int // of the log
	asked      int
	good       map[string]int // by what was asked
}

// judge fails for an answer that takes a repository for damaged.
func (s *soundness) judge(t *testing.T, kind, what string, a received) {
	t.Helper()
	s.asked++
	text := string(a.body)
	if a.err != nil || strings.Contains(text, "corrupt_repository") || strings.Contains(text, "internal_error") ||
		strings.Contains(text, "git fsck") {
		t.Errorf("%s of %s: %v", kind, what, a)
	}
	if !a.failed() && !strings.Contains(text, `"isError":true`) {
		s.good[kind]++
	}
	logged := s.log.String()[s.read:]
	s.read += len(logged)
	if strings.Contains(logged, "level=ERROR") {
		t.Errorf("%s of %s is logged: %s", kind, what, logged)
	}
}

// received is what a plain download, or a link, leads to.
func (s *soundness) received(t *testing.T, found *resources.Found, err error, want resources.Want) received {
	t.Helper()
	var body *resources.Body
	var content []byte
	if err == nil {
		body, err = found.Open(t.Context(), want)
		if err == nil && want.Method == resources.Get {
			content, err = body.ReadAll(t.Context())
		}
		if err := errors.Join(body.Close(), found.Close()); err != nil {
			t.Error(err)
		}
	}
	beyond := (*resources.RangeError)(nil)
	if err != nil && !errors.As(err, &beyond) {
		failure := s.resources.Failure(t.Context(), err, "repo://x")
		return received{code: 1, body: []byte(string(failure.Reason) + " " + failure.Message)}
	}
	return received{body: content, streamed: true}
}

// download asks for a plain URL.
func (s *soundness) download(t *testing.T, kind, address string, want resources.Want) {
	t.Helper()
	route, rest, _ := strings.Cut(strings.TrimPrefix(address, "/"), "/")
	rawPath, query, hasQuery := strings.Cut(rest, "?")
	found, failure := s.resources.FindDownload(t.Context(), resources.Plain(route), rawPath, query, hasQuery)
	var err error
	if failure != nil {
		err = failure
	}
	s.judge(t, kind, address, s.received(t, found, err, want))
}

// TestSoundRepositoriesAreNeverCalledDamaged asks for everything that exists, and for much that does not, in every
// way: the log of an operator whose mirrors are sound has no error, and no client is told of damage.
func TestSoundRepositoriesAreNeverCalledDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of requests")
	}
	t.Parallel()
	s := &soundness{log: &logtest.Log{}, good: make(map[string]int)}
	disk, err := cache.OpenDisk(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	var revisions map[string][]string
	s.local = newLocal(t, localOptions{
		tools: true, links: linked(t), cache: cache.New(cache.Options{Disk: disk}),
		logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		build:  func(root string) { revisions = buildSound(t, root) },
	})
	s.connection = s.connect(t, modernVersion)
	for name := range revisions {
		for i, revision := range revisions[name] {
			if name != "odd" && i%gittest.Volume(20, 5) != 0 {
				continue // the same objects, stored in other ways
			}
			s.askArchives(t, name, revision, i)
			s.askFiles(t, name, revision)
			s.askTools(t, name, revision, revisions[name][(i+7)%len(revisions[name])])
			s.askMessages(t, name, revision)
		}
		for _, address := range []string{"/refs/" + name, "/refs/" + name + "?all=1"} {
			s.download(t, "refs", address, resources.Want{Method: resources.Get})
			s.download(t, "refs", address, resources.Want{Method: resources.Head})
		}
	}
	t.Logf("%d requests, of which succeeded: %v", s.asked, s.good)
	for _, kind := range []string{"archive", "HEAD", "range", "link", "stream", "raw", "refs", "connection", "tools/call",
		MethodRead, MethodComplete, MethodSubscribe, "prompts/get", MethodList, "tools/list"} {
		if s.good[kind] < 3 {
			t.Errorf("%d of %s succeeded", s.good[kind], kind)
		}
	}
	if s.asked < 5000 {
		t.Errorf("only %d requests", s.asked)
	}
}

// askArchives asks for an archive in a format that goes by the number, with all options in turn.
func (s *soundness) askArchives(t *testing.T, name, revision string, number int) {
	t.Helper()
	formats := []string{"tar", "tar.gz", "tar.zst", "tar.xz", "zip", "manifest.json"}
	options := []string{"", "?lfs=content", "?submodules=content", "?profile=full&prefix=p%2F", "?base=main",
		"?base=main~1&delta=patch", "?base=annotated-blob", "?base=light-tree&fallback=full", "?path=dir", "?exclude=*.bin",
		"?strip=dir", "?profile=full&lfs=content"}
	for i := range 2 {
		file := fmt.Sprintf("%s.%s%s", url.PathEscape(revision), formats[(number+i)%len(formats)],
			options[(number/2+5*i)%len(options)])
		address, uri := "/archive/"+name+"/"+file, "repo://"+name+"/archive/"+file
		s.download(t, "archive", address, resources.Want{Method: resources.Get})
		s.download(t, "HEAD", address, resources.Want{Method: resources.Head})
		s.download(t, "range", address, resources.Want{Method: resources.Get,
			Range: &resources.Range{First: 10, Last: 999, Suffix: -1}})
		s.download(t, "range", address, resources.Want{Method: resources.Get, Range: &resources.Range{Suffix: 7}})
		s.judge(t, "stream", uri, s.do(t, s.call(modernVersion, MethodStream, map[string]any{"uri": uri})))
		s.askLink(t, uri)
	}
	s.download(t, "signature", "/archive/"+name+"/"+url.PathEscape(revision)+".tar.asc",
		resources.Want{Method: resources.Get})
}

// askLink follows the link that a refusal or a result of resources/read has.
func (s *soundness) askLink(t *testing.T, uri string) {
	t.Helper()
	read := s.do(t, s.call(modernVersion, MethodRead, map[string]any{"uri": uri}))
	s.judge(t, "link", uri, read)
	_, rest, found := bytes.Cut(read.body, []byte(`httpUrl":"`))
	address, _, _ := bytes.Cut(rest, []byte(`"`))
	if !found {
		return
	}
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		linked, err := s.resources.FindLink(t.Context(), path.Base(string(address)), links.Use{Method: method})
		s.judge(t, "link", uri, s.received(t, linked.Found, err, resources.Want{Method: resources.Method(method)}))
	}
}

func (s *soundness) askFiles(t *testing.T, name, revision string) {
	t.Helper()
	for _, file := range []string{"README.md", "dir", "dir/sub/file", "link", "module", "there.bin", "large", "none", ""} {
		address := "/raw/" + name + "/" + url.PathEscape(revision) + "/" + file
		s.download(t, "raw", address, resources.Want{Method: resources.Get,
			Range: &resources.Range{First: 1, Last: math.MaxInt64, Suffix: -1}})
		s.download(t, "raw", address, resources.Want{Method: resources.Head})
	}
}

// toolArguments are those of every tool.
func toolArguments(name, revision, other string) map[string][]map[string]any {
	at := func(more ...any) map[string]any {
		arguments := map[string]any{"repo": name, "ref": revision}
		for i := 0; i < len(more); i += 2 {
			arguments[more[i].(string)] = more[i+1]
		}
		return arguments
	}
	bare := func(more ...any) map[string]any {
		arguments := at(more...)
		delete(arguments, "ref")
		return arguments
	}
	return map[string][]map[string]any{
		"search_repositories": {{"query": name}},
		"get_repository":      {bare()},
		"list_branches":       {bare("contains", revision), bare()},
		"list_tags":           {bare("contains", revision), bare("sort", "version")},
		"get_tag":             {bare("tag", revision)},
		"list_commits":        {at(), at("path", "README.md"), at("base", other), at("pickaxe", "hello")},
		"get_commit":          {at("detail", "full_patch")},
		"compare_commits":     {bare("base", revision, "head", other), bare("base", other, "head", revision, "two_dot", true)},
		"get_file_contents":   {at("path", "README.md"), at(), at("path", "link"), at("path", "module"), at("path", "there.bin")},
		"get_repository_tree": {at("recursive", true), bare("tree_sha", revision)},
		"find_files":          {at("query", "sub")},
		"search_code":         {at("query", "hello")},
		"get_file_blame":      {at("path", "README.md")},
		"get_archive_link":    {at(), at("format", "zip", "base", other), at("lfs", "content")},
	}
}

func (s *soundness) askTools(t *testing.T, name, revision, other string) {
	t.Helper()
	arguments := toolArguments(name, revision, other)
	if s.good["tools/list"] < 3 {
		list := s.do(t, s.call(modernVersion, "tools/list", nil))
		s.judge(t, "tools/list", name, list)
		var reply struct {
			Result struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal(list.body, &reply); err != nil || len(reply.Result.Tools) != len(arguments) {
			t.Fatalf("tools/list has %d tools, the test %d: %v", len(reply.Result.Tools), len(arguments), err)
		}
		for _, tool := range reply.Result.Tools {
			if arguments[tool.Name] == nil {
				t.Errorf("the tool %s is not asked", tool.Name)
			}
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(arguments)) {
		for _, each := range arguments[tool] {
			call := s.call(modernVersion, "tools/call", map[string]any{"name": tool, "arguments": each})
			s.judge(t, "tools/call", fmt.Sprint(tool, each), s.do(t, call))
		}
	}
}

func (s *soundness) askMessages(t *testing.T, name, revision string) {
	t.Helper()
	escaped := url.PathEscape(revision)
	for _, below := range []string{"", "/refs", "/refs/" + escaped, "/contents", "/contents/README.md",
		"/refs/" + escaped + "/contents", "/refs/" + escaped + "/contents/dir", "/sha/" + escaped + "/contents/README.md",
		"/sha/" + escaped, "/archive/" + escaped + ".manifest.json"} {
		params := map[string]any{"uri": "repo://" + name + below}
		s.judge(t, MethodRead, name+below, s.do(t, s.call(sessionVersion, MethodRead, params)))
		s.judge(t, "stream", name+below, s.do(t, s.call(sessionVersion, MethodStream, params)))
		s.judge(t, "connection", name+below, s.connection.do(s.call(modernVersion, MethodRead, params)))
	}
	uri := "repo://" + name + "/refs/" + escaped
	template := "repo://{+repo}/refs/tags/{tag}"
	for method, params := range map[string]map[string]any{
		"ping": {}, MethodList: {}, "resources/templates/list": {}, "prompts/list": {},
		MethodSubscribe: {"uri": uri}, "resources/unsubscribe": {"uri": uri},
		"prompts/get": {"name": "explain_repository", "arguments": map[string]any{"repo": name, "ref": revision}},
		MethodComplete: {"ref": map[string]any{"type": "ref/resource", "uri": template},
			"argument": map[string]any{"name": "tag", "value": revision[:min(len(revision), 3)]},
			"context":  map[string]any{"arguments": map[string]any{"repo": name}}},
	} {
		s.judge(t, method, uri, s.do(t, s.call(sessionVersion, method, params)))
	}
}
