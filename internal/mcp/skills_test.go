package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

// skillIn is a SKILL.md in a folder of the skill's name.
func skillIn(folder, description string) gittest.File {
	return gittest.Regular(path.Join(folder, "SKILL.md"), fmt.Sprintf(
		"---\nname: %s\ndescription: %s\n---\nDo it.\n", path.Base(folder), description))
}

// skillsReply has what the methods of SEP-2640 answer.
type skillsReply struct {
	Skills     []skillEntry
	Skill      skillEntry
	Resources  []directoryChild
	NextCursor string
	ResultType string
	TTLMs      *int64
	CacheScope string
}

// askSkills sends a request as a principal and reads the result. A failure is a code.
func (v *visitor) askSkills(t *testing.T, version, method string, params map[string]any) (reply skillsReply, code int) {
	t.Helper()
	a := v.do(t, v.request(version, method, params))
	var answer struct{ Result skillsReply }
	if err := json.Unmarshal(a.body, &answer); err != nil {
		t.Fatalf("%s %v: %v", method, params, err)
	}
	return answer.Result, a.code
}

// skills returns all listed skills, page by page.
func (v *visitor) skills(t *testing.T, version string) (uris []string, entries []skillEntry, pages int) {
	t.Helper()
	for params := map[string]any{}; ; {
		reply, code := v.askSkills(t, version, MethodSkillsList, params)
		if code != 0 || reply.Skills == nil {
			t.Fatalf("skills/list %v: %d, %+v", params, code, reply)
		}
		for _, entry := range reply.Skills {
			uris = append(uris, entry.URI)
		}
		entries = append(entries, reply.Skills...)
		if pages++; reply.NextCursor == "" {
			return uris, entries, pages
		}
		params["cursor"] = reply.NextCursor
	}
}

// newSkills is a server with skills of several repositories.
func newSkills(t *testing.T, options localOptions) (s *local, commits []string) {
	t.Helper()
	options.build = func(root string) {
		tools := gittest.At(t, filepath.Join(root, "team/tools.git"))
		commits = append(commits, tools.Commit("main", skillIn("skills/refunds", "Old."), skillIn("docs/hidden", "Unlisted.")))
		tools.Git("tag", "v1", "main")
		commits = append(commits, tools.Commit("main", skillIn("skills/refunds", "New."), skillIn("docs/hidden", "Unlisted."),
			gittest.Regular("skills/refunds/examples/e mail.md", "Dear"), gittest.Regular("skills/refunds/logo", "\x00\xff"),
			skillIn("skills/refunds/parts/nested", "Nested."), skillIn(".claude/skills/review", "Review."),
			gittest.Regular("skills/broken/SKILL.md", "---\nname: other\ndescription: x\n---\n")))
		tools.Commit("topic", skillIn("skills/refunds", "On a branch."))
		gittest.At(t, filepath.Join(root, "alone.git")).Commit("main", skillIn("alone", "At the root."),
			gittest.Regular("SKILL.md", "---\nname: alone\ndescription: At the root.\n---\n"), gittest.Regular("a/b", "b"))
		// A folder with the name of another repository.
		gittest.At(t, filepath.Join(root, "team.git")).Commit("main", skillIn("skills/fine", "x"))
		gittest.At(t, filepath.Join(root, "team/skills/fine.git")).Commit("main", gittest.Regular("a", "a"))
		gittest.At(t, filepath.Join(root, "empty.git"))
		strange := gittest.At(t, filepath.Join(root, "a@bé/c@d.git"))
		strange.Commit("main", skillIn("skills/odd", "Odd."))
	}
	return newLocal(t, options), commits
}

// authority is the form of a URI that begins with a reg-name of RFC 3986.
var authority = regexp.MustCompile(`^skill://([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-F]{2})+/`)

// TestListedSkillsAreComplete reads each file of each listed skill, and compares it with the entry.
func TestListedSkillsAreComplete(t *testing.T) {
	t.Parallel()
	s, commits := newSkills(t, localOptions{})
	anyone := s.visitor(t, "")
	for _, version := range eras {
		uris, entries, _ := anyone.skills(t, version)
		want := []string{"skill://a%40b%C3%A9/c@d/skills/odd/SKILL.md", "skill://alone/SKILL.md",
			"skill://team/tools/.claude/skills/review/SKILL.md", "skill://team/tools/skills/refunds/SKILL.md"}
		if !slices.Equal(uris, want) {
			t.Errorf("%s: %q are listed, want %q", version, uris, want)
		}
		read := 0
		for _, entry := range entries {
			if !authority.MatchString(entry.URI) {
				t.Errorf("%s does not begin with a reg-name of RFC 3986", entry.URI)
			}
			got, code := anyone.askSkills(t, version, MethodSkillsGet, map[string]any{"uri": entry.URI})
			if one, other := fmt.Sprintf("%+v", got.Skill), fmt.Sprintf("%+v", entry); one != other || code != 0 {
				t.Errorf("%s: skills/get has\n%s, %d\nskills/list\n%s", version, one, code, other)
			}
			for _, file := range entry.Resources {
				anyone.verify(t, version, file)
				read++
			}
		}
		if read != 9 {
			t.Errorf("%d files were read", read)
		}
		refunds := entries[len(entries)-1]
		if refunds.Meta[metaCommit] != commits[1] ||
			refunds.Meta[metaLocation] != "repo://team/tools/sha/"+commits[1]+"/contents/skills/refunds/SKILL.md" {
			t.Errorf("_meta is %v", refunds.Meta)
		}
	}
}

// verify reads a file, as hosts do.
func (v *visitor) verify(t *testing.T, version string, file skillResource) {
	t.Helper()
	var reply struct {
		Result struct {
			Contents []struct{ URI, Text, Blob, MIMEType string }
		}
	}
	a := v.do(t, v.request(version, MethodRead, map[string]any{"uri": file.URI}))
	if err := json.Unmarshal(a.body, &reply); err != nil || len(reply.Result.Contents) != 1 {
		t.Errorf("%s: %v", file.URI, a)
		return
	}
	content := reply.Result.Contents[0]
	raw := []byte(content.Text)
	if content.Blob != "" {
		raw, _ = base64.StdEncoding.DecodeString(content.Blob)
	}
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(raw)); got != file.Digest || int64(len(raw)) != file.Size ||
		content.URI != file.URI {
		t.Errorf("%s has %d bytes, %s; the entry says %d, %s", content.URI, len(raw), got, file.Size, file.Digest)
	}
	if path.Base(file.URI) == "SKILL.md" && resources.IsSkill(file.URI) && content.MIMEType != typeMarkdown {
		t.Errorf("%s is %s", file.URI, content.MIMEType)
	}
}

// TestSkillsAreHadAtEveryRevision gets what is not listed, and reads its files.
func TestSkillsAreHadAtEveryRevision(t *testing.T) {
	t.Parallel()
	s, commits := newSkills(t, localOptions{})
	anyone := s.visitor(t, "")
	const tools, path = "repo://team/tools", "/contents/skills/refunds/SKILL.md"
	for uri, want := range map[string]string{
		tools + path:                                              "New.",
		tools + "/refs/heads/main" + path:                         "New.",
		tools + "/refs/heads/topic" + path:                        "On a branch.",
		tools + "/refs/tags/v1" + path:                            "Old.",
		tools + "/sha/" + commits[0] + path:                       "Old.",
		tools + "/sha/" + commits[1][:10] + path:                  "New.",
		tools + "/contents/docs/hidden/SKILL.md":                  "Unlisted.",
		"skill://team/tools/docs/hidden/SKILL.md":                 "Unlisted.",
		"SKILL://team/tools/docs/hidden/SKILL.md":                 "Unlisted.",
		"skill://team/tools/skills/refunds/parts/nested/SKILL.md": "Nested.",
		"skill://team%2Ftools/skills/refunds/SKILL.md":            "New.",
	} {
		for _, version := range eras {
			reply, code := anyone.askSkills(t, version, MethodSkillsGet, map[string]any{"uri": uri})
			var front struct{ Name, Description string }
			err := json.Unmarshal(reply.Skill.Frontmatter, &front)
			if err != nil || code != 0 || front.Description != want || reply.Skill.URI != uri || front.Name != strings.Split(uri, "/")[strings.Count(uri, "/")-1] {
				t.Errorf("%s in %s: %d, %s, %v; want %s", uri, version, code, reply.Skill.Frontmatter, err, want)
			}
			for _, file := range reply.Skill.Resources {
				anyone.verify(t, version, file)
			}
		}
	}
}

// TestSkillMethodsRefuseInOneWay has the code that SEP-2640 demands in each version, and a message.
func TestSkillMethodsRefuseInOneWay(t *testing.T) {
	t.Parallel()
	s, _ := newSkills(t, localOptions{})
	for _, test := range []struct{ method, uri, reason, want string }{
		{MethodSkillsGet, "skill://none/SKILL.md", "not_found", "not found"},
		{MethodSkillsGet, "skill://team/tools/none/SKILL.md", "not_found", "not found"},
		{MethodSkillsGet, "repo://team/tools/refs/heads/none/contents/skills/refunds/SKILL.md", "not_found", "not found"},
		{MethodSkillsGet, "https://example.com/SKILL.md", "not_found", "not found"},
		{MethodSkillsGet, "skill:///SKILL.md", "not_found", "not found"},
		{MethodSkillsGet, "skill://team/tools/../tools/SKILL.md", "invalid_uri", "Malformed"},
		{MethodSkillsGet, "skill://team/tools/skills/refunds", "not_a_skill", "does not end in /SKILL.md"},
		{MethodSkillsGet, "skill://team/tools/skills/refunds/skill.md", "not_a_skill", "does not end in /SKILL.md"},
		{MethodSkillsGet, "skill://team/tools/skills/SKILL.md", "not_a_skill", "the folder has no SKILL.md"},
		{MethodSkillsGet, "skill://team/tools/skills/broken/SKILL.md", "not_a_skill", "the name other"},
		{MethodSkillsGet, "repo://alone/contents/SKILL.md", "not_a_skill", "is not that of its folder, contents"},
		{MethodSkillsGet, "skill://alone.git/SKILL.md", "not_a_skill", "is not that of its folder, alone.git"},
		{MethodSkillsGet, "repo://team/tools/SKILL.md", "not_a_skill", "in no folder"},
		{MethodSkillsGet, "skill://team/tools/skills%2Frefunds/SKILL.md", "not_a_skill", "skills%2Frefunds"},
		{MethodReadDirectory, "skill://none", "not_found", "not found"},
		{MethodReadDirectory, "skill://team/tools/skills/refunds/SKILL.md", "not_a_directory", "no directory resource"},
		{MethodReadDirectory, "repo://team/tools", "not_a_directory", "no directory resource"},
		{MethodReadDirectory, "repo://team/tools/refs", "not_a_directory", "no directory resource"},
		{MethodReadDirectory, "repo://team/tools/archive/main.tar", "not_a_directory", "no directory resource"},
		{MethodReadDirectory, "repo://team/tools/contents?after=docs", "not_a_directory", "no directory resource"},
		{MethodReadDirectory, "repo://", "not_a_directory", "no directory resource"},
		{MethodReadDirectory, "skill://", "not_found", "not found"},
		{MethodReadDirectory, "repo://empty/contents", "not_found", "no commits"},
	} {
		for _, version := range append(eras, batchVersion) {
			a := s.do(t, s.call(version, test.method, map[string]any{"uri": test.uri}))
			if a.code != -32602 || a.reason != test.reason || !strings.Contains(string(a.body), test.want) {
				t.Errorf("%s %s in %s: %v; want %s, %q", test.method, test.uri, version, a, test.reason, test.want)
			}
		}
	}
	for _, method := range []string{MethodSkillsList, MethodReadDirectory} {
		for _, cursor := range []any{"x", "c2tpbGxz", string(cursorAfter("alone")), 7, string(encodeCursor(skillsPrefix, "../x")),
			string(encodeCursor(folderPrefix, "main a"))} {
			a := s.do(t, s.call(modernVersion, method, map[string]any{"uri": "repo://alone/contents", "cursor": cursor}))
			if a.code != -32602 || a.data["member"] != "cursor" {
				t.Errorf("%s with the cursor %v: %v", method, cursor, a)
			}
		}
		a := s.do(t, s.call(modernVersion, MethodReadDirectory, nil))
		if a.code != -32602 || a.data["member"] != "uri" {
			t.Errorf("no URI: %v", a)
		}
	}
}

// TestSkillResultsMayBeKept has the members of cacheable results.
func TestSkillResultsMayBeKept(t *testing.T) {
	t.Parallel()
	s, _ := newSkills(t, localOptions{})
	anyone := s.visitor(t, "")
	for method, uri := range map[string]string{
		MethodSkillsList: "", MethodSkillsGet: "skill://alone/SKILL.md", MethodReadDirectory: "skill://alone",
	} {
		reply, _ := anyone.askSkills(t, modernVersion, method, map[string]any{"uri": uri})
		if reply.ResultType != "complete" || reply.TTLMs == nil || reply.CacheScope != "private" ||
			(*reply.TTLMs == 10_000) != (method != MethodReadDirectory) {
			t.Errorf("%s: %+v", method, reply)
		}
		if old, _ := anyone.askSkills(t, sessionVersion, method, map[string]any{"uri": uri}); old.ResultType != "" || old.TTLMs != nil {
			t.Errorf("%s in a session: %+v", method, old)
		}
	}
	for _, version := range eras {
		method := map[string]string{sessionVersion: MethodInitialize, modernVersion: MethodDiscover}[version]
		c := s.call(version, method, map[string]any{"protocolVersion": version})
		if a := s.do(t, c); !strings.Contains(string(a.body), `"io.modelcontextprotocol/skills":{"directoryRead":true}`) {
			t.Errorf("%s declares %v", method, a)
		}
	}
}

// TestEveryFolderIsADirectory reads all folders of a repository, by both schemes, and compares them with git.
func TestEveryFolderIsADirectory(t *testing.T) {
	t.Parallel()
	s, commits := newSkills(t, localOptions{})
	anyone := s.visitor(t, "")
	repo := gittest.Existing(t, filepath.Join(s.root, "team/tools.git"))
	var want []string
	for line := range strings.SplitSeq(repo.Git("ls-tree", "-rt", "--name-only", "main"), "\n") {
		want = append(want, line)
	}
	slices.Sort(want)
	for _, root := range []string{"skill://team/tools", "repo://team/tools/contents",
		"repo://team/tools/sha/" + commits[1] + "/contents"} {
		var got []string
		var walk func(uri string)
		walk = func(uri string) {
			reply, code := anyone.askSkills(t, sessionVersion, MethodReadDirectory, map[string]any{"uri": uri})
			if code != 0 || reply.Resources == nil {
				t.Fatalf("%s: %d", uri, code)
			}
			for _, child := range reply.Resources {
				plain, err := url.PathUnescape(strings.TrimPrefix(child.URI, root+"/"))
				if err != nil || path.Base(plain) != child.Name {
					t.Errorf("%s has the name %q", child.URI, child.Name)
				}
				got = append(got, plain)
				if child.MIMEType == "inode/directory" {
					walk(child.URI)
				} else if child.Size == nil {
					t.Errorf("%s has no size", child.URI)
				}
			}
		}
		walk(root)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", root, got, want)
		}
	}
}

// TestPagesOfADirectoryAreOfOneCommit pushes between two pages.
func TestPagesOfADirectoryAreOfOneCommit(t *testing.T) {
	t.Parallel()
	s, mirror := newWatched(t, localOptions{})
	var files []gittest.File
	for i := range 450 {
		files = append(files, gittest.Regular(fmt.Sprintf("many/f%03d", i), "x"))
	}
	mirror.Commit("main", files...)
	anyone, names, params := s.visitor(t, ""), []string(nil), map[string]any{"uri": "skill://repo/many"}
	for page := 0; page == 0 || params["cursor"] != ""; page++ {
		reply, code := anyone.askSkills(t, modernVersion, MethodReadDirectory, params)
		if code != 0 {
			t.Fatalf("page %d: %d", page, code)
		}
		for _, child := range reply.Resources {
			names = append(names, child.Name)
		}
		params["cursor"] = reply.NextCursor
		mirror.Commit("main", gittest.Regular("many/a", fmt.Sprint(page)))
	}
	if len(names) != 450 || !slices.IsSorted(names) || names[449] != "f449" {
		t.Errorf("%d names: %q", len(names), names)
	}
}

// TestSkillPagesHaveEachSkillOnce pages through more skills than a page has, while repositories come and go.
func TestSkillPagesHaveEachSkillOnce(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const repositories, each = 30, 9
	var want []string
	s := newLocal(t, localOptions{build: func(root string) {
		for i := range repositories {
			var files []gittest.File
			for j := range each {
				folder := fmt.Sprintf("skills/s%d", j)
				files = append(files, skillIn(folder, "x"))
				want = append(want, fmt.Sprintf("skill://r%02d/%s/SKILL.md", i, folder))
			}
			if i == 7 { // more files than a page has
				for j := range 500 {
					files = append(files, gittest.Regular(fmt.Sprintf("skills/s0/f%d", j), "x"),
						gittest.Regular(fmt.Sprintf("skills/s1/f%d", j), "x"), gittest.Regular(fmt.Sprintf("skills/s2/f%d", j), "x"))
				}
			}
			gittest.At(t, filepath.Join(root, fmt.Sprintf("r%02d.git", i))).Commit("main", files...)
		}
	}})
	anyone := s.visitor(t, "")
	for _, version := range eras {
		uris, entries, pages := anyone.skills(t, version)
		if !slices.Equal(uris, want) || pages < 4 || pages > 8 {
			t.Errorf("%d skills on %d pages, want %d", len(uris), pages, len(want))
		}
		if n := len(entries[7*each].Resources); n != 501 {
			t.Errorf("a skill has %d files", n)
		}
	}
	reply, _ := anyone.askSkills(t, modernVersion, MethodSkillsList, map[string]any{
		"cursor": string(skillsPlace{"r05x", true, "skills/s3"}.cursor())})
	if len(reply.Skills) == 0 || reply.Skills[0].URI != "skill://r06/skills/s0/SKILL.md" {
		t.Errorf("after a repository that has gone: %+v", reply.Skills)
	}
}

// visibleTo lets clients know of the repositories that are named for them, and of no others.
func visibleTo(names map[string][]string) func(ctx context.Context) func(name string) bool {
	return func(ctx context.Context) func(name string) bool {
		return func(name string) bool { return slices.Contains(names[access.PrincipalOf(ctx).ID], name) }
	}
}

// TestEachClientListsItsOwnSkills has rules that hide repositories.
func TestEachClientListsItsOwnSkills(t *testing.T) {
	t.Parallel()
	s, _ := newSkills(t, localOptions{repos: repos.Options{Visible: visibleTo(map[string][]string{
		"teamster": {"team/tools"}, "loner": {"alone"}, "superior": {"team"}})}})
	for id, want := range map[string]string{
		"teamster": "skill://team/tools/.claude/skills/review/SKILL.md skill://team/tools/skills/refunds/SKILL.md",
		"loner":    "skill://alone/SKILL.md",
		// The repository that has the name of the folder is hidden.
		"superior": "skill://team/skills/fine/SKILL.md",
		"stranger": "",
	} {
		for _, version := range eras {
			uris, _, _ := s.visitor(t, id).skills(t, version)
			if got := strings.Join(uris, " "); got != want {
				t.Errorf("%s lists %q, want %q", id, got, want)
			}
			a := s.do(t, s.visitor(t, id).request(version, MethodList, nil))
			for uri := range strings.FieldsSeq(want) {
				if !bytes.Contains(a.body, []byte(`"uri":"`+uri+`"`)) {
					t.Errorf("resources/list of %s has no %s", id, uri)
				}
			}
			if n := bytes.Count(a.body, []byte("SKILL.md")); n != len(strings.Fields(want)) {
				t.Errorf("resources/list of %s has %d skills", id, n)
			}
		}
	}
}

// TestSkillSubscribersHearOfEachFile pushes to a skill and beside it.
func TestSkillSubscribersHearOfEachFile(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, mirror := newWatched(t, localOptions{})
	const uri, file = "skill://repo/skills/one/SKILL.md", "skill://repo/skills/one/a.md"
	one := skillIn("skills/one", "x")
	mirror.Commit("main", one, gittest.Regular("skills/one/a.md", "1"))
	s.visitor(t, "").skills(t, modernVersion)
	clients := s.listeners(t, uri, file)
	defer s.follow(t)()
	const listChanged = "notifications/resources/list_changed"
	for _, push := range []struct {
		what  string
		files []gittest.File
		want  []string
	}{
		{"a file of the skill", []gittest.File{one, gittest.Regular("skills/one/a.md", "2")}, []string{uri, file, listChanged}},
		{"a file beside it", []gittest.File{one, gittest.Regular("skills/one/a.md", "2"), gittest.Regular("b", "1")}, nil},
		{"another skill", []gittest.File{one, gittest.Regular("skills/one/a.md", "2"), skillIn("skills/two", "x")},
			[]string{listChanged}},
		{"SKILL.md", []gittest.File{skillIn("skills/one", "y"), gittest.Regular("skills/one/a.md", "2"), skillIn("skills/two", "x")},
			[]string{uri, listChanged}},
		{"no skill", []gittest.File{gittest.Regular("b", "1")}, []string{uri, file, listChanged}},
	} {
		mirror.Commit("main", push.files...)
		if push.want == nil {
			continue // what came of it would come before what is awaited next
		}
		for _, client := range clients {
			missing := slices.Clone(push.want)
			for len(missing) > 0 {
				message := <-client.messages
				found := slices.IndexFunc(missing, func(want string) bool { return strings.Contains(message, `"`+want+`"`) })
				if found < 0 {
					t.Fatalf("%s: the %s era is told %s, and waits for %q", push.what, client.era, message, missing)
				}
				missing = slices.Delete(missing, found, found+1)
			}
		}
	}
}
