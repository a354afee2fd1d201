package tools_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// manyRefs is a repository with commits and tags of all kinds, at random.
func manyRefs(t *testing.T, seed uint64) (*site, *gittest.Repo) {
	t.Helper()
	s, repo := single(t)
	r := rand.New(rand.NewPCG(seed, 3))
	tree := repo.Store("tree", "")
	var commits []string
	date := func() string { return fmt.Sprintf("%d +0%d00", 1_600_000_000+r.IntN(40), r.IntN(9)) }
	for i := range 25 {
		text := "tree " + tree + "\n"
		for range r.IntN(3) {
			if len(commits) > 0 {
				text += "parent " + commits[r.IntN(len(commits))] + "\n"
			}
		}
		commits = append(commits, repo.Store("commit",
			fmt.Sprintf("%sauthor A <a@b> %s\ncommitter C <c@d> %s\n\nsubject %d\nwith\ta tab\n\nbody\n", text, date(),
				date(), i)))
	}
	objects := append(slices.Clone(commits), tree, repo.Store("blob", "x"))
	kinds := map[string]string{tree: "tree", objects[len(objects)-1]: "blob"}
	for i := range 60 {
		target := objects[r.IntN(len(objects))]
		name := fmt.Sprintf("%s%d.%0*d%s", []string{"v", "", "r/v"}[r.IntN(3)], r.IntN(12), 1+r.IntN(3), r.IntN(12),
			[]string{"", "", "-rc1", "-rc2", "-rc10", ".1", "a", "-"}[r.IntN(8)])
		if r.IntN(2) == 0 {
			kind := kinds[target]
			if kind == "" {
				kind = "commit"
			}
			tagger := fmt.Sprintf("tagger T <t@u> %s\n", date())
			if r.IntN(10) == 0 {
				tagger = ""
			}
			target = repo.Store("tag", fmt.Sprintf("object %s\ntype %s\ntag %s\n%s\nRelease %d\nof all\n\nbody\n",
				target, kind, name, tagger, i))
			kinds[target], objects = "tag", append(objects, target)
		}
		repo.SetRef("refs/tags/"+name, target)
	}
	for i := range 12 {
		repo.SetRef(fmt.Sprintf("refs/heads/b%d/x%d", r.IntN(3), i), commits[r.IntN(len(commits))])
	}
	repo.SetRef("refs/heads/main", commits[len(commits)-1])
	return s, repo
}

// listed are the rows of all pages.
func (s *site) listed(tool string, arguments args) (rows []string) {
	s.t.Helper()
	for _, item := range s.pages(tool, "refs", arguments) {
		ref := item.(map[string]any)
		field := func(name string) string {
			text, _ := ref[name].(string)
			return text
		}
		object := field("target")
		if object == "" {
			object = field("sha")
		}
		when := ""
		if at, err := time.Parse(time.RFC3339, field("date")); err == nil {
			when = fmt.Sprint(at.Unix())
		}
		rows = append(rows, strings.Join([]string{field("name"), object, when, field("subject")}, "\x1f"))
	}
	return rows
}

func TestRefsAreThoseOfGit(t *testing.T) {
	gittest.Long(t)
	compared, refs, fewer := 0, 0, 0
	for seed := range uint64(gittest.Volume(4, 100)) {
		s, repo := manyRefs(t, seed)
		all := strings.Fields(repo.Git("rev-list", "--all"))
		for _, kind := range []struct{ tool, folder, command string }{{"list_tags", "refs/tags/", "tag"},
			{"list_branches", "refs/heads/", "branch"}} {
			for _, c := range []struct {
				arguments args
				options   []string
			}{
				{args{}, []string{"--sort=-creatordate"}},
				{args{"sort": "date", "perPage": 7}, []string{"--sort=-creatordate"}},
				{args{"sort": "name"}, []string{"--sort=refname"}},
				{args{"sort": "version"}, []string{"--sort=-version:refname"}},
				{args{"query": "v1*", "sort": "version"}, []string{"--sort=-version:refname", "--list", "v1*"}},
				{args{"query": "*[0-3]"}, []string{"--sort=-creatordate", "--list", "*[0-3]"}},
				{args{"query": "1", "sort": "name"}, []string{"--sort=refname", "--list", "*1*"}},
				{args{"query": "RC", "sort": "name"}, []string{"--sort=refname", "--ignore-case", "--list", "*rc*"}},
				{args{"contains": 0}, []string{"--sort=-creatordate"}},
				{args{"contains": 11}, []string{"--sort=-creatordate"}},
				{args{"contains": 20, "sort": "name"}, []string{"--sort=refname"}},
			} {
				c.arguments["repo"] = "one"
				if place, ok := c.arguments["contains"].(int); ok {
					c.arguments["contains"] = all[place%len(all)]
					c.options = append(c.options, "--contains="+all[place%len(all)])
				}
				command := append([]string{"-c", "versionsort.suffix=-", kind.command,
					"--format=%(refname)%1f%(objectname)%1f%(creatordate:unix)%1f%(subject)%1e"}, c.options...)
				var want []string
				for row := range strings.SplitSeq(strings.TrimSuffix(repo.Git(command...), "\x1e"), "\x1e") {
					row = strings.TrimPrefix(strings.TrimPrefix(row, "\n"), kind.folder)
					// git shows the beginning of a file as its subject.
					if row != "" {
						want = append(want, strings.TrimSuffix(row, "\x1fx"))
					}
				}
				got := s.listed(kind.tool, c.arguments)
				for i := range got {
					if len(want) == len(got) && strings.HasSuffix(got[i], "\x1f\x1f") {
						got[i] = strings.TrimSuffix(got[i], "\x1f")
						want[i] = strings.TrimSuffix(want[i], "\x1f")
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("seed %d: git %q\n got %q\nwant %q", seed, command, got, want)
				}
				compared++
				if refs += len(want); len(want) > 0 && c.arguments["query"] != nil || c.arguments["contains"] != nil {
					fewer++
				}
			}
		}
	}
	if compared < 80 || refs < 1500 || fewer < 30 {
		t.Errorf("only %d lists of %d refs were compared, %d of them a selection", compared, refs, fewer)
	}
	t.Logf("%d lists, %d refs", compared, refs)
}

// A ref whose object is broken is listed, and marked.
func TestDamagedRefsAreListed(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("a", "1\n"))
	repo.Git("tag", "-a", "-m", "whole", "whole", "main")
	repo.Git("tag", "-a", "-m", "broken", "broken", "main")
	id := repo.Git("rev-parse", "broken")
	repo.Git("pack-refs", "--all") // which has the target of the tag
	file := filepath.Join(repo.Dir, "objects", id[:2], id[2:])
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("no zlib stream"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sort := range []string{"date", "name", "version"} {
		r := s.call("list_tags", args{"repo": "one", "sort": sort})
		text := r.content + r.text
		if r.failed || !strings.Contains(text, "broken "+repo.Git("rev-parse", "main")[:12]+" (object "+
			id[:12]+") unreadable") || !strings.Contains(text, "whole ") {
			t.Errorf("%s: %s", sort, text)
		}
	}
}

func TestTagsAreShown(t *testing.T) {
	s, repo := single(t)
	repo.Commit("main", gittest.Regular("a", "1\n"))
	commit := repo.Git("rev-parse", "main")
	const pgp, ssh = "-----BEGIN PGP SIGNATURE-----\n\niQ\tEz\n-----END PGP SIGNATURE-----\n",
		"-----BEGIN SSH SIGNATURE-----\nU1\n-----END SSH SIGNATURE-----\n"
	tagger := "tagger T. Agger <t@example.com> 1700000000 +0100\n"
	store := func(name, target, kind, tagger, text string) string {
		id := repo.Store("tag", "object "+target+"\ntype "+kind+"\ntag "+name+"\n"+tagger+"\n"+text)
		repo.SetRef("refs/tags/"+name, id)
		return id
	}
	plain := store("plain", commit, "commit", tagger, "Release\n\nbody\tof\n\nmore\n")
	signed := store("signed", commit, "commit", tagger, "Signed\n"+pgp)
	store("ssh", plain, "tag", "", "Nested\n\n"+ssh)
	blob := repo.Store("blob", "x")
	store("of-blob", blob, "blob", tagger, "File\n")
	repo.SetRef("refs/tags/light", commit)
	repo.SetRef("refs/tags/light-blob", blob)
	for name, want := range map[string][2]string{
		"plain": {
			"tag " + plain + "\nobject " + commit +
				" (commit)\nname plain\nTagger: T. Agger <t@example.com>\nTaggerDate: 2023-11-14T23:13:20+01:00\n\n  " +
				"  Release\n\n    body\tof\n\n    more\n",
			"plain of one is an annotated tag.\nIt is not signed.",
		},
		"refs/tags/signed": {
			"tag " + signed + "\nobject " + commit +
				" (commit)\nname signed\nTagger: T. Agger <t@example.com>\nTaggerDate: 2023-11-14T23:13:20+01:00\n\n " +
				"   Signed\n\n    -----BEGIN PGP SIGNATURE-----\n\n    iQ\tEz\n    -----END PGP SIGNATURE-----\n",
			"signed of one is an annotated tag.\nIt is signed; the signature was not verified.",
		},
		"tags/ssh": {
			"tag " + repo.Git("rev-parse", "ssh") + "\nobject " + plain +
				" (tag)\nname ssh\n\n    Nested\n\n    -----BEGIN SSH SIGNATURE-----\n    U1\n    -----END SSH " +
				"SIGNATURE-----\n",
			"ssh of one is an annotated tag.\nIt leads to the commit " + commit +
				".\nIt is signed; the signature was not verified.",
		},
		"of-blob": {
			"tag " + repo.Git("rev-parse", "of-blob") + "\nobject " + blob +
				" (blob)\nname of-blob\nTagger: T. Agger <t@example.com>\nTaggerDate: 2023-11-14T23:13:20+01:00\n\n  " +
				"  File\n",
			"of-blob of one is an annotated tag.\nIt leads to no commit.\nIt is not signed.",
		},
		"light": {
			commit[:12] + " 2023-11-14T22:13:20Z A U Thor: commit 1 on main\n",
			"light of one is a lightweight tag: a name of the commit " + commit +
				", without tagger, message and signature.",
		},
		"light-blob": {"", "light-blob of one is a lightweight tag of " + blob + ", which is no commit."},
	} {
		if r := s.call("get_tag", args{"repo": "one", "tag": name}); r.failed || r.content != want[0] ||
			r.text != want[0]+want[1] {
			t.Errorf("%s:\n%q\n%q\nwant\n%q", name, r.content, r.text, want)
		}
	}
	// The parts together are what git shows of the tag.
	for _, name := range []string{"plain", "signed", "ssh", "of-blob"} {
		r := s.call("get_tag", args{"repo": "one", "tag": name})
		_, text, _ := strings.Cut(repo.Git("cat-file", "tag", name), "\n\n")
		_, shown, _ := strings.Cut(r.content, "\n\n")
		squeeze := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, " ", ""), "\n", "") }
		if squeeze(shown) != squeeze(text) {
			t.Errorf("%s: %q, git has %q", name, shown, text)
		}
	}
	store("long", commit, "commit", tagger, strings.Repeat("a\n", 20_000)+strings.ReplaceAll(pgp, "iQ",
		strings.Repeat("iQ\n", 3000)))
	r := s.call("get_tag", args{"repo": "one", "tag": "long"})
	for _, want := range []string{
		"    a\n[Cut here. The message has 40000 bytes; only its beginning is shown.]\n\n    -----BEGIN",
		"    iQ\n[Cut here. The signature has ",
	} {
		if !strings.Contains(r.content, want) {
			t.Errorf("%q is not in %s", want, r.content)
		}
	}
	if r := s.call("get_tag", args{"repo": "one", "tag": "none"}); !r.failed ||
		!strings.Contains(r.text, "There is no tag none in one. Find tags with list_tags") {
		t.Errorf("%s", r.text)
	}
}

// A list of tags with contains begins with the oldest tag, and the oldest that is no pre-release.
func TestTheFirstReleaseIsThatOfGit(t *testing.T) {
	gittest.Long(t)
	compared := 0
	for seed := range uint64(gittest.Volume(4, 100)) {
		s, repo := manyRefs(t, seed)
		for _, commit := range strings.Fields(repo.Git("rev-list", "--all")) {
			tags := repo.Git("-c", "versionsort.suffix=-", "tag", "--contains="+commit, "--sort=version:refname",
				"--sort=creatordate", "--format=%(refname:strip=2) %(creatordate:unix)")
			var first, release string
			dated := true // a tag without a date counts as old as its commit
			for row := range strings.Lines(tags) {
				name, date, _ := strings.Cut(strings.TrimSuffix(row, "\n"), " ")
				dated = dated && date != ""
				if first == "" {
					first = name
				}
				if release == "" && !strings.Contains(name, "-rc") && !strings.HasSuffix(name, "a") {
					release = name
				}
			}
			if first == "" || !dated {
				continue
			}
			for _, sort := range []string{"date", "name", "version"} {
				r := s.call("list_tags", args{"repo": "one", "contains": commit, "sort": sort, "perPage": 2})
				want := fmt.Sprintf("first release: %s, first tag: %s\n\n", cmp.Or(release, "none"), first)
				got, _ := r.data["firstRelease"].(string)
				if !strings.HasPrefix(r.content, want) || r.data["firstTag"] != first || got != release {
					t.Errorf("seed %d, %s by %s: %s\nwant %s of %s", seed, commit, sort, r.content, want, tags)
				}
				compared++
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d lists were compared", compared)
	}
	t.Logf("%d lists", compared)
}

// Early versions of git made tags without a tagger and a date.
func TestATagWithoutADateIsAsOldAsItsCommit(t *testing.T) {
	s, repo := single(t)
	id := repo.Commit("main", gittest.Regular("a", "1"))
	repo.Git("tag", "v1", id)
	later := repo.Commit("main", gittest.Regular("a", "2"))
	repo.SetRef("refs/tags/v2", repo.Store("tag", "object "+later+"\ntype commit\ntag v2\n\nRelease\n"))
	r := s.call("list_tags", args{"repo": "one", "contains": id})
	if want := "first release: v1, first tag: v1\n\n"; !strings.HasPrefix(r.content, want) {
		t.Errorf("%s\nwant %s", r.content, want)
	}
}
