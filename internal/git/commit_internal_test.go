package git

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/repomcp/repomcp/internal/gittest"
)

// oddCommits are commits that git reads, without their trees and parents. What
// go-git's decoder reads otherwise is marked.
var oddCommits = map[string]struct {
	rest        string
	goGitErrors bool
}{
	"ordinary": {"author A U <a@x> 1700000000 +0130\ncommitter C <c@x> 1700000001 -0800\n\nsubject\n\nbody\n", false},
	"two parents": {"parent 1111111111111111111111111111111111111111\nauthor A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n\nm\n",
		false},
	"signature": {
		"author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\ngpgsig -----BEGIN\n \n author X <x@x> 3 +0000\n -----END\n\nm\n", false},
	"tag of a merge": {
		"author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\nmergetag object 1\n type commit\n tagger T <t@x> 1 +0000\n \n x\n\nm\n", false},
	"encoding": {"author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\nencoding ISO-8859-1\n\nf\xfcr\n",
		false},
	"no newline at the end": {"author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n\nm", false},
	"no message":            {"author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n", false},
	"NUL in the message":    {"author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n\na\x00b\n", false},
	"no name":               {"author <a@x> 1 +0000\ncommitter <c@x> 2 +0000\n\nm\n", false},
	"zone out of range":     {"author A <a@x> 1 +9959\ncommitter C <c@x> 2 -9959\n\nm\n", false},
	"two authors": {"author A <a@x> 1 +0000\nauthor B <b@x> 3 +0000\ncommitter C <c@x> 2 +0000\n\nm\n",
		true},
	"two committers": {"author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\ncommitter D <d@x> 3 +0000\n\nm\n",
		true},
	"committer before author":  {"committer C <c@x> 2 +0000\nauthor A <a@x> 1 +0000\n\nm\n", true},
	"no blank before the date": {"author A <a@x>1700000000 +0000\ncommitter C <c@x>1700000001 +0000\n\nm\n", true},
	"two blanks":               {"author A <a@x>  1700000000 +0000\ncommitter C <c@x>  1700000001 +0000\n\nm\n", true},
	"half an hour west":        {"author A <a@x> 1700000000 -0030\ncommitter C <c@x> 1700000001 -0030\n\nm\n", true},
	"short zone":               {"author A <a@x> 1700000000 +1\ncommitter C <c@x> 1700000001 +1\n\nm\n", true},
}

// TestOddCommitsAreReadAsGitReadsThem compares with `git log`, and shows why the
// parser is our own: go-git's is compared as well.
func TestOddCommitsAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	tree := repo.Store("tree", "")
	parent := repo.Store("commit", "tree "+tree+"\n\n")
	for name, c := range oddCommits {
		if strings.HasPrefix(c.rest, "parent ") {
			c.rest = "parent " + repo.Store("commit", "tree "+tree+"\n\nother\n") + c.rest[len("parent ")+2*len(ID{}):]
		}
		raw := "tree " + tree + "\nparent " + parent + "\n" + c.rest
		id := repo.Store("commit", raw)
		want := strings.Split(repo.Git("log", "-1", "--no-mailmap", "--date=raw",
			"--format=%T%n%P%n%an%n%ae%n%ad%n%cn%n%ce%n%cd", id), "\n")
		// The date that orders history and is that of an archive's files, which is not
		// the committer's where people are not in their places.
		date, _, _ := strings.Cut(repo.Git("rev-list", "--timestamp", "-1", id), " ")
		if own := ownFields(t, raw, date); !slices.Equal(own, want) {
			t.Errorf("%s: %q, git reads %q", name, own, want)
		}
		if goGit := goGitFields(t, raw); slices.Equal(goGit, want) == c.goGitErrors {
			t.Errorf("%s: go-git reads %q, git reads %q", name, goGit, want)
		}
	}
}

// ownFields are a commit's tree, parents, author and committer as parseCommit
// reads them. The message is all that comes after the first empty line.
func ownFields(t *testing.T, raw, date string) []string {
	t.Helper()
	c, err := parseCommit(ID{}, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if _, message, _ := strings.Cut(raw, "\n\n"); c.Message != message || strconv.FormatUint(c.Date, 10) != date {
		t.Errorf("%q: message %q, date %d, git's %s", raw, c.Message, c.Date, date)
	}
	signature := func(p Person) object.Signature {
		return object.Signature{Name: p.Name, Email: p.Email,
			When: p.When()}
	}
	return commitFields(c.Tree, c.Parents, signature(c.Author), signature(c.Committer))
}

// goGitFields are the same as go-git reads them.
func goGitFields(t *testing.T, raw string) []string {
	t.Helper()
	var stored plumbing.MemoryObject
	stored.SetType(plumbing.CommitObject)
	if _, err := stored.Write([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	var c object.Commit
	if err := c.Decode(&stored); err != nil {
		t.Fatal(err)
	}
	return commitFields(c.TreeHash, c.ParentHashes, c.Author, c.Committer)
}

func commitFields[H fmt.Stringer](tree H, parents []H, author, committer object.Signature) []string {
	var ids []string
	for _, p := range parents {
		ids = append(ids, p.String())
	}
	fields := []string{tree.String(), strings.Join(ids, " ")}
	for _, s := range []object.Signature{author, committer} {
		_, zone := s.When.Zone()
		sign := '+'
		if zone < 0 {
			zone, sign = -zone, '-'
		}
		fields = append(fields, s.Name, s.Email, fmt.Sprintf("%d %c%02d%02d", s.When.Unix(), sign, zone/3600,
			zone/60%60))
	}
	return fields
}
