package tools_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/tools"
)

// Descriptions are valid, and do not depend on repositories.
func TestDescriptionsAreStatic(t *testing.T) {
	var seen []string
	for _, root := range []string{samples, t.TempDir(), samples} {
		catalogue, err := repos.Open(root, repos.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var described []any
		for _, tool := range tools.New(tools.Options{Catalogue: catalogue}) {
			described = append(described, tool.Tool)
			a := tool.Annotations
			if tool.Title == "" || tool.Description == "" || !*a.ReadOnlyHint || *a.DestructiveHint ||
				*a.OpenWorldHint {
				t.Errorf("%s is described incompletely", tool.Name)
			}
			for _, raw := range []json.RawMessage{tool.RawInputSchema, tool.RawOutputSchema} {
				if raw == nil {
					continue
				}
				if _, err := roundTrip[*jsonschema.Schema](t, raw).Resolve(nil); err != nil {
					t.Errorf("%s: %v", tool.Name, err)
				}
				if strings.Contains(string(raw), "null") {
					t.Errorf("%s: %s", tool.Name, raw)
				}
			}
		}
		raw, err := json.Marshal(described)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, string(raw))
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	}
	if seen[0] != seen[1] || seen[0] != seen[2] {
		t.Error("the descriptions differ")
	}
}

func TestSearchRepositories(t *testing.T) {
	s := open(t, samples)
	for _, c := range []struct {
		arguments args
		want      []string
		note      string
	}{
		{args{"query": "tools"}, []string{"team/tools", "team/tools/builder"}, ""},
		{args{"query": "BUILDER team"}, []string{"team/tools/builder"}, ""},
		{args{"query": "team/tools"}, []string{"team/tools", "team/tools/builder"}, ""},
		{args{"query": "greets PEOPLE"}, []string{"hello"}, ""},
		{args{"query": "hello people"}, []string{"hello"}, ""},
		{args{"perPage": 2}, []string{"attributes", "detached"}, "1 to 2 of 15. Go on with the same arguments and cursor="},
		{args{"perPage": "4", "page": 4.0}, []string{"team/tools", "team/tools/builder", "trunk"}, "13 to 15 of 15."},
		{args{"query": "none such"}, nil, "No repository's name or description has all these words."},
	} {
		r := s.call("search_repositories", c.arguments)
		got := strs(r.data["repositories"])
		if !slices.Equal(got, c.want) || !strings.Contains(r.text, c.note) ||
			!strings.HasPrefix(r.text, strings.Join(c.want, "\n")) {
			t.Errorf("%v: %q, %s", c.arguments, got, r.text)
		}
	}
}

// A failure says what is wrong, and what to do.
func TestFailuresSayWhatToDo(t *testing.T) {
	s := open(t, samples)
	for _, c := range []struct {
		tool      string
		arguments args
		want      string
	}{
		{"search_repositories", args{"page": 9}, "There is no page 9: with perPage=30 the last is 1."},
		{"list_branches", args{"repo": "nobody"},
			"There is no repository nobody that you may read. Find names with search_repositories."},
		{"list_branches", args{"repo": "../hello"}, "There is no repository ../hello that you may read."},
		{"list_branches", args{"repo": "hel\u202elo"}, `There is no repository "hel\342\200\256lo" that you may read.`},
		{"list_branches", args{"repo": "tools", "owner": "nobody"},
			"There is no repository nobody/tools that you may read."},
		{"list_branches", args{"repo": "hlelo"}, "Did you mean hello?"},
		{"search_code", args{"query": "x repo:github/hlelo"},
			"There is no repository github/hlelo that you may read. Find names with search_repositories."},
		{"search_code", args{"query": "x user:taem"},
			"There is no repository below taem/ that you may read. Did you mean team?"},
		{"search_code", args{"query": "x repo:hello repo:trunk", "ref": "v9"},
			"No repository that is searched has the branch, tag or commit v9."},
		{"get_repository_tree", args{"repo": "hello", "ref": "v1.1.0"},
			"There is no branch, tag or commit v1.1.0 in hello. Did you mean v1.0.0?"},
		{"get_repository_tree", args{"repo": "hello", "ref": "refs/heads/feature/lgoin"},
			"Did you mean feature/login?"},
		{"get_repository_tree", args{"repo": "hello", "ref": "nowhere"},
			"There is no branch, tag or commit nowhere in hello. See list_branches and list_tags"},
		{"list_commits", args{"repo": "hello", "ref": "main~5000"}, "main is there, but ~5000 leads to no commit from it"},
		{"list_commits", args{"repo": "hello", "ref": "HEAD^7"}, "HEAD is there, but ^7 leads to no commit from it"},
		{"search_code", args{"query": "hello", "page": "2"}, "A search has no numbered pages."},
		{"get_repository_tree", args{"repo": "hello", "sha": "0123456789012345678901234567890123456789"},
			"There is no branch, tag or commit 0123456789"},
		{"get_repository_tree", args{"repo": "refs", "ref": "folder"}, "The revision leads to a folder (tree "},
		{"list_commits", args{"repo": "trunk", "ref": "heads/main"},
			"There is no branch, tag or commit heads/main in trunk. See list_branches and list_tags; where none is given, " +
				"it is the default branch trunk."},
		{"compare_commits", args{"repo": "trunk", "base": "refs/heads/master"}, "There is no branch, tag or commit refs/he"},
		{"get_file_contents", args{"repo": "detached", "ref": "heads/master"}, "it is the default branch."},
		{"get_repository_tree", args{"repo": "hello", "path": "README.md"},
			"README.md is a file, not a folder. Read it with get_file_contents."},
		{"get_repository_tree", args{"repo": "hello", "path": "docs/../.."}, `The argument path has the part "..".`},
		{"get_repository_tree", args{"repo": "hello", "path": `"docs`}, "The argument path begins with a double quote"},
		{"get_repository_tree", args{"repo": "hello", "page": 2}, "There is no page 2"},
		{"get_repository_tree", args{"repo": "empty"}, "The repository has no commits yet."},
		{"get_file_contents", args{"repo": "hello", "path": "other/guide.md"},
			"There is no other/guide.md in hello at 3ff53e025c901ee7c1c5ff8497c213584a8b4958. Did you mean docs/guide.md?"},
		{"get_file_contents", args{"repo": "hello", "path": "nothing"}, "Look for it with find_files."},
		{"get_file_contents", args{"repo": "hello", "path": "README.md", "start_line": 9},
			"start_line is 9, but README.md has 8 lines."},
		{"get_file_contents", args{"repo": "hello", "path": "README.md", "start_line": 5, "end_line": 4},
			"end_line is 4, before start_line, which is 5."},
		{"find_files", args{"repo": "hello"}, "Give query, a part of the path, or glob"},
		{"find_files", args{"repo": "hello", "glob": strings.Repeat("{a,b}", 9)},
			"The braces of the pattern stand for more than 64 patterns."},
		{"find_files", args{"repo": "hello", "glob": "["},
			`The pattern [ is malformed: a set such as [abc] has no end`},
		{"get_repository_tree", args{"repo": "hello", "path_filter": "src/[a-"}, "The pattern src/[a- is malformed"},
		{"get_repository_tree", args{"repo": "hello", "tree_sha": "0123456789012345678901234567890123456789"},
			"There is no branch, tag or commit 0123456789"},
		{"search_code", args{"query": "x", "repo": "hello", "context_lines": 21},
			"The argument context_lines must be a whole number from 0 to 20."},
		{"search_code", args{"query": "x path:a", "path": "b"},
			"The query has path:, and there is the argument path. Give one of them."},
		{"search_code", args{"query": "language:go"},
			"The query cannot be searched for: there is nothing to search for"},
		{"search_code", args{"query": "x", "repo": "hello", "ref": "nowhere"},
			"There is no branch, tag or commit nowhere in hello."},
		{"list_commits", args{"repo": "hello", "page": 1_000_000}, "page is too far: go on with the cursor"},
		{"get_commit", args{"repo": "hello", "paths": "../x"}, `The argument path has the part "..".`},
		{"get_commit", args{"repo": "hello", "page": 2}, "There is no page 2"},
		{"compare_commits", args{"repo": "history", "base": "main", "head": "pages"},
			"have no commit in common. Compare them themselves with two_dot=true."},
		{"get_file_blame", args{"repo": "hello", "path": "README.md", "start_line": 3, "end_line": 2},
			"end_line is 2, before start_line, which is 3."},
		{"get_archive_link", args{"repo": "hello", "exclude": strings.Repeat("x", 4096)},
			"which is more than 4096. Name folders instead of single files"},
		{"get_archive_link", args{"repo": "hello", "prefix": "../x"}, `"prefix" must be a relative path`},
		{"get_archive_link", args{"repo": "hello", "profile": "half"}, `"half" is none of "archive", "full", "worktree"`},
		{"get_archive_link", args{"repo": "hello", "paths": []string{":(nope)a"}}, "The arguments make no archive"},
		{"get_archive_link", args{"repo": "hello", "format": "rar"},
			"The argument format must be one of manifest.json, tar, tar.gz, tar.xz, tar.zst, zip."},
	} {
		if r := s.call(c.tool, c.arguments); !r.failed || !strings.Contains(r.text, c.want) {
			t.Errorf("%s %v: %s", c.tool, c.arguments, r.text)
		}
	}
}

func TestNamesOfRepositoriesAndRevisions(t *testing.T) {
	s := open(t, samples)
	for _, c := range []struct {
		arguments args
		want      string // in the text
	}{
		{args{"repo": "hello"}, "hello at 3ff53e025c901ee7c1c5ff8497c213584a8b4958."},
		{args{"repo": "hello.git"}, "hello at 3ff53e0"},
		{args{"repo": "/hello/"}, "hello at 3ff53e0"},
		{args{"repo": `"hello"`}, "hello at 3ff53e0"},
		{args{"repo": "hello", "owner": "github"}, "There is no repository github/hello; this is of hello.\n"},
		{args{"repo": "github/hello.git"}, "There is no repository github/hello.git; this is of hello.\n"},
		{args{"repo": "https://github.com/github/hello"},
			"There is no repository https://github.com/github/hello; this is of hello.\n"},
		{args{"repo": "git@example.com:team/tools/builder.git"},
			"There is no repository git@example.com:team/tools/builder.git; this is of team/tools/builder.\n"},
		{args{"repo": "repo://hello"}, "There is no repository repo://hello; this is of hello.\n"},
		{args{"repo": "tools/builder", "owner": "team"},
			"team/tools/builder at 8dffac5f15ad0acae02c4575668269d37efe38c0."},
		{args{"repo": "builder.git", "owner": "team/tools"}, "team/tools/builder at 8dffac5"},
		{args{"repo": "team/tools", "owner": "team"}, "team/tools at 8546ab3"},
		{args{"repo": "hello", "ref": "feature/login"}, "hello at feature/login (9c59764"},
		{args{"repo": "hello", "ref": "refs/tags/v1.0.0"}, "hello at refs/tags/v1.0.0 (19b9248"},
		{args{"repo": "hello", "ref": "heads/main"}, "hello at heads/main (3ff53e0"},
		{args{"repo": "refs", "ref": "pull/1/head"}, "refs at pull/1/head (76afca4"},
		{args{"repo": "hello", "ref": "3ff53e0"}, "hello at 3ff53e025c901ee7c1c5ff8497c213584a8b4958."},
		{args{"repo": "hello", "ref": "main", "sha": "19b9248"}, "hello at 19b9248c133ae0140f98b38043dc86d27a25c080."},
		{args{"repo": "hello", "ref": "nowhere", "tree_sha": "v1.0.0"}, "hello at v1.0.0 (19b9248"},
		{args{"repo": "trunk", "ref": "main"}, "There is no branch main; this is of the default branch trunk.\n"},
		{args{"repo": "detached", "ref": "master"}, "There is no branch master; this is of HEAD, which is no branch."},
		{args{"repo": "refs", "ref": "v1.0"},
			"v1.0 is a tag and a branch; this is of the tag. For the branch give refs/heads/v1.0."},
	} {
		if r := s.call("get_repository_tree", c.arguments); r.failed || !strings.Contains("\n"+r.text, "\n"+c.want) {
			t.Errorf("%v: %s", c.arguments, r.text)
		}
	}
}

func TestRefsAndCards(t *testing.T) {
	s := open(t, samples)
	r := s.call("list_tags", args{"repo": "refs"})
	for _, want := range []string{
		"folder (object 24cc3a7",
		"readme (object 3cdf4d8",
		"light c8b0485",
		"release/2024/01 ",
	} {
		if !strings.Contains(r.text, want) {
			t.Errorf("%q is not in\n%s", want, r.text)
		}
	}
	r = s.call("list_branches", args{"repo": "refs", "perPage": 5})
	if r.next() == "" || r.data["total"] != 15.0 || r.data["defaultBranch"] != "main" || len(r.links) > 0 ||
		!strings.Contains(r.text, "All branches and tags are in repo://refs/refs.") {
		t.Errorf("%+v", r)
	}
	if r = s.call("list_branches", args{"repo": "refs", "perPage": 5, "page": 3}); r.data["nextCursor"] != nil ||
		!strings.Contains(r.text, "11 to 15 of 15.") {
		t.Errorf("%+v", r)
	}
	if r = s.call("list_tags", args{"repo": "trunk"}); !strings.Contains(r.text, "trunk has no tags.") {
		t.Errorf("%+v", r)
	}
	if r = s.call("get_repository", args{"repo": "hello"}); r.data["description"] != "Greets people by name" ||
		r.data["branches"] != 2.0 || r.data["uri"] != "repo://hello" {
		t.Errorf("%+v", r)
	}
	if r = s.call("get_repository", args{"repo": "empty"}); r.data["empty"] != true || r.data["head"] != nil ||
		!strings.Contains(r.text, "There is no commit yet.") {
		t.Errorf("%+v", r)
	}
	if r = s.call("get_repository", args{"repo": "detached"}); r.data["defaultBranch"] != nil || r.data["head"] == nil {
		t.Errorf("%+v", r)
	}
}

func TestArchiveLink(t *testing.T) {
	s := open(t, samples)
	r := s.call("get_archive_link", args{
		"repo": "hello", "ref": "v1.0.0", "format": "zip", "paths": []string{"src", "README.md"},
		"exclude": "src/greeting.test.js", "prefix": "p/", "profile": "full", "base": "v1.0.0~1",
	})
	const want = "repo://hello/archive/19b9248c133ae0140f98b38043dc86d27a25c080.zip?path=README.md&path=src&exclude=src/greeting.test.js&prefix=p/&profile=full&base=038eed05cbf194f3674add161e15f7cf4728d7d7"
	if !slices.Equal(r.links, []string{want}) || r.data["uri"] != want ||
		!strings.Contains(r.text, "\nuri: "+want+"\n") {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.text, "Download it from this server over HTTP: GET /archive/hello/") ||
		strings.Contains(r.text, "curl") {
		t.Errorf("without an address there is no command: %s", r.text)
	}
}

// What comes from a repository is in blocks that say so, names, subjects and
// descriptions included; what the server says is not.
func TestBlocksSayWhereTheyAreFrom(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("file-of-stranger", "text-of-stranger\n"))
	repo.WriteFile("description", []byte("description-of-stranger"))
	tree := repo.Git("rev-parse", "main^{tree}")
	commit := repo.Store("commit", "tree "+tree+
		"\nauthor name-of-stranger <a@b.example> 1700000000 +0000\ncommitter C <c@d.example> 1700000000 "+
		"+0000\n\nsubject-of-stranger\n")
	for _, ref := range []string{"refs/heads/main", "refs/heads/branch-of-stranger", "refs/tags/tag-of-stranger"} {
		repo.SetRef(ref, commit)
	}
	for _, c := range []struct {
		tool      string
		arguments args
		marked    []string
	}{
		{"get_repository", args{}, []string{"description-of-stranger", "subject-of-stranger", "name-of-stranger"}},
		{"list_branches", args{}, []string{"branch-of-stranger"}},
		{"list_tags", args{}, []string{"tag-of-stranger"}},
		{"list_commits", args{}, []string{"subject-of-stranger", "name-of-stranger"}},
		{"get_commit", args{}, []string{"subject-of-stranger", "name-of-stranger", "file-of-stranger"}},
		{"get_file_blame", args{"path": "file-of-stranger"}, []string{"subject-of-stranger", "name-of-stranger",
			"text-of-stranger"}},
		{"get_repository_tree", args{}, []string{"file-of-stranger"}},
		{"find_files", args{"query": "file"}, []string{"file-of-stranger"}},
		{"search_code", args{"query": "text"}, []string{"file-of-stranger", "text-of-stranger"}},
		{"get_file_contents", args{"path": "file-of-stranger"}, []string{"text-of-stranger"}},
	} {
		c.arguments["repo"] = "one"
		r := s.call(c.tool, c.arguments)
		for _, want := range c.marked {
			if !strings.Contains(r.content, want) ||
				strings.Contains(strings.TrimPrefix(r.text, strings.TrimSuffix(r.content, "\n")), want) &&
					want != "file-of-stranger" {
				t.Errorf("%s: %s is not in the marked block alone: %s", c.tool, want, r.text)
			}
		}
	}
}

// A link is given only where it is what was asked for, with what a client needs
// to follow it.
func TestLinksAreAnswers(t *testing.T) {
	s := open(t, samples)
	for _, c := range []struct {
		tool        string
		arguments   args
		description string
	}{
		{"get_archive_link", args{"repo": "hello", "ref": "v1.0.0"},
			"Archive of hello at v1.0.0 (19b9248c133ae0140f98b38043dc86d27a25c080)"},
		{"get_file_contents", args{"repo": "media", "path": "images/logo.png"},
			"Bytes of images/logo.png in media at "},
	} {
		call := mcp.CallToolRequest{}
		call.Params.Name, call.Params.Arguments = c.tool, c.arguments
		result, err := s.tools[c.tool].Handler(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		links := 0
		for _, block := range roundTrip[[]map[string]any](t, result.Content) {
			if block["type"] != "resource_link" {
				continue
			}
			links++
			meta, _ := block["_meta"].(map[string]any)
			if block["streamable"] != true || meta["io.github.repomcp/streamable"] != true ||
				!strings.HasPrefix(block["description"].(string), c.description) {
				t.Errorf("%s: %v", c.tool, block)
			}
		}
		if links != 1 {
			t.Errorf("%s: %d links", c.tool, links)
		}
	}
}

// What every conversation begins with is short: agents pay for it with each
// request.
func TestTheListOfToolsIsShort(t *testing.T) {
	const (
		most        = 4000
		perToken    = 3.5 // characters of JSON with English in it
		maxToolText = 300
	)
	var listed []mcp.Tool
	for _, tool := range tools.New(tools.Options{}) {
		if n := len(tool.Description); n > maxToolText {
			t.Errorf("the description of %s has %d characters", tool.Name, n)
		}
		tool.RawOutputSchema = nil
		listed = append(listed, tool.Tool)
	}
	raw := roundTrip[rawText](t, map[string]any{"tools": listed})
	if tokens := float64(len(raw)) / perToken; tokens > most {
		t.Errorf("%d bytes, %.0f tokens", len(raw), tokens)
	}
}

// The id of a tree in a result is accepted, and no other id: a tree that no
// served commit has stays hidden, even if an earlier result contained its id.
func TestTreesThatWereHandedOut(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("old/deep/file", "1"))
	old := repo.Git("rev-parse", "main")
	repo.Commit("main", gittest.Regular("new/file", "2"))
	oldTree, deep := repo.Git("rev-parse", old+"^{tree}"), repo.Git("rev-parse", old+":old/deep")
	list := func(tree string, more args) reply {
		arguments := args{"repo": "one", "tree_sha": tree}
		for name, value := range more {
			arguments[name] = value
		}
		return s.call("get_repository_tree", arguments)
	}
	if r := list(repo.Git("rev-parse", "main^{tree}"), nil); r.failed ||
		!strings.Contains(r.text, "is the folder / of this commit.") {
		t.Errorf("the tree of the default branch: %s", r.text)
	}
	if r := list(oldTree, nil); !r.failed {
		t.Errorf("a tree that no result had: %s", r.text)
	}
	if r := s.call("get_commit", args{"repo": "one", "sha": old}); !strings.Contains(r.text, oldTree) {
		t.Fatal(r.text)
	}
	if r := list(oldTree, args{"recursive": true}); r.failed || r.data["sha"] != old ||
		!strings.Contains(r.text, deep+" - old/deep") {
		t.Errorf("the tree of a commit: %s", r.text)
	}
	if r := list(deep, nil); r.failed || !strings.Contains(r.text, " old/deep/file\n") {
		t.Errorf("the tree of a folder: %s", r.text)
	}
	if r := list(oldTree, args{"path": "old/deep"}); r.failed || !strings.Contains(r.text, " old/deep/file\n") {
		t.Errorf("a path below a tree: %s", r.text)
	}
	secret := repo.Store("tree", "")
	if r := list(secret, nil); !r.failed {
		t.Errorf("a tree that no commit leads to: %s", r.text)
	}
	// What is pushed away is served no more.
	repo.SetRef("refs/heads/main", repo.Git("commit-tree", "-m", "alone", repo.Git("rev-parse", "main:new")))
	if r := list(deep, nil); !r.failed {
		t.Errorf("a tree of a commit that no ref leads to: %s", r.text)
	}
}

// That a path is not there is another answer than that nothing changed it.
func TestALogOfNothingSaysWhy(t *testing.T) {
	s := open(t, samples)
	if r := s.call("list_commits", args{"repo": "hello", "path": "nowhere/guide.md"}); r.failed ||
		!strings.Contains(r.text, "There is no nowhere/guide.md in hello at "+
			"3ff53e025c901ee7c1c5ff8497c213584a8b4958. Did you mean docs/guide.md?") {
		t.Errorf("%s", r.text)
	}
	if r := s.call("list_commits", args{"repo": "hello", "path": "README.md", "author": "nobody"}); r.failed ||
		strings.Contains(r.text, "There is no README.md") || !strings.Contains(r.text, "No commit fits") {
		t.Errorf("%s", r.text)
	}
}

func TestTheCardTellsWhenTheMirrorWasFetched(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("a", "1"))
	if r := s.call("get_repository", args{"repo": "one"}); r.data["fetched"] != nil {
		t.Errorf("%s", r.text)
	}
	repo.WriteFile("FETCH_HEAD", []byte("what came\n"))
	if r := s.call("get_repository", args{"repo": "one"}); r.data["fetched"] == nil ||
		!strings.Contains(r.text, "\nfetched: 20") {
		t.Errorf("%s", r.text)
	}
}

func TestToolsAreChosen(t *testing.T) {
	all := len(tools.New(tools.Options{}))
	for _, c := range []struct {
		names []string
		want  int
		err   string
	}{
		{nil, all, ""},
		{[]string{"search_code", "get_file_contents", "search_code"}, 2, ""},
		{[]string{"search_code", "list_tag"}, 0, "There is no tool list_tag. Did you mean list_tags?"},
	} {
		got, err := tools.Choose(tools.New(tools.Options{}), c.names)
		if len(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %d tools, %v", c.names, len(got), err)
		}
	}
}

// Some frameworks fail on links. Without them the addresses are all there.
func TestResultsWithoutLinks(t *testing.T) {
	s := openWith(t, samples, resources.Linking{}, true)
	if r := s.call("get_archive_link", args{"repo": "hello"}); len(r.links) > 0 ||
		!strings.Contains(r.text, "\nuri: repo://hello/archive/") {
		t.Errorf("%+v", r)
	}
	if r := s.call("get_file_contents", args{"repo": "media", "path": "images/logo.png"}); len(r.links) > 0 ||
		!strings.Contains(r.text, "Its resource is repo://media/sha/") {
		t.Errorf("%+v", r)
	}
}

// A tag of a folder has an archive, under the id of the tag.
func TestArchiveLinkOfATagOfATree(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("a", "x"))
	id := repo.GitInput([]byte("object "+repo.Git("rev-parse", "main^{tree}")+
		"\ntype tree\ntag data\ntagger A <a@b.c> 1 +0000\n\nx\n"), "mktag")
	repo.SetRef("refs/tags/data", id)
	r := s.call("get_archive_link", args{"repo": "one", "ref": "data"})
	if r.failed || r.data["sha"] != id || !strings.Contains(r.text, "no commit") || len(r.links) != 1 ||
		!strings.Contains(r.links[0], id) {
		t.Errorf("%+v", r)
	}
}
