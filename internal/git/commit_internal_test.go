package git

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// oddCommits are commits that git reads, without their trees and parents.
var oddCommits = map[string]string{
	"ordinary": "author A U <a@x> 1700000000 +0130\n" +
		"committer C <c@x> 1700000001 -0800\n\nsubject\n\nbody\n",
	"two parents": "parent 1111111111111111111111111111111111111111\n" +
		"author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n\nm\n",
	"signature": "author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n" +
		"gpgsig -----BEGIN\n \n author X <x@x> 3 +0000\n -----END\n\nm\n",
	"tag of a merge": "author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n" +
		"mergetag object 1\n type commit\n tagger T <t@x> 1 +0000\n \n x\n\nm\n",
	"encoding":                 "author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\nencoding ISO-8859-1\n\nf\xfcr\n",
	"no newline at the end":    "author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n\nm",
	"no message":               "author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n",
	"NUL in the message":       "author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\n\na\x00b\n",
	"no name":                  "author <a@x> 1 +0000\ncommitter <c@x> 2 +0000\n\nm\n",
	"zone out of range":        "author A <a@x> 1 +9959\ncommitter C <c@x> 2 -9959\n\nm\n",
	"two authors":              "author A <a@x> 1 +0000\nauthor B <b@x> 3 +0000\ncommitter C <c@x> 2 +0000\n\nm\n",
	"two committers":           "author A <a@x> 1 +0000\ncommitter C <c@x> 2 +0000\ncommitter D <d@x> 3 +0000\n\nm\n",
	"committer before author":  "committer C <c@x> 2 +0000\nauthor A <a@x> 1 +0000\n\nm\n",
	"no blank before the date": "author A <a@x>1700000000 +0000\ncommitter C <c@x>1700000001 +0000\n\nm\n",
	"two blanks":               "author A <a@x>  1700000000 +0000\ncommitter C <c@x>  1700000001 +0000\n\nm\n",
	"half an hour west":        "author A <a@x> 1700000000 -0030\ncommitter C <c@x> 1700000001 -0030\n\nm\n",
	"short zone":               "author A <a@x> 1700000000 +1\ncommitter C <c@x> 1700000001 +1\n\nm\n",
}

// TestOddCommitsAreReadAsGitReadsThem compares with `git log`.
func TestOddCommitsAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	tree := repo.Store("tree", "")
	parent := repo.Store("commit", "tree "+tree+"\n\n")
	for name, rest := range oddCommits {
		if strings.HasPrefix(rest, "parent ") {
			rest = "parent " + repo.Store("commit", "tree "+tree+"\n\nother\n") + rest[len("parent ")+2*len(ID{}):]
		}
		raw := "tree " + tree + "\nparent " + parent + "\n" + rest
		id := repo.Store("commit", raw)
		want := strings.Split(repo.Git("log", "-1", "--no-mailmap", "--date=raw",
			"--format=%T%n%P%n%an%n%ae%n%ad%n%cn%n%ce%n%cd", id), "\n")
		// The date that orders history and is that of an archive's files, which is not
		// the committer's where people are not in their places.
		date, _, _ := strings.Cut(repo.Git("rev-list", "--timestamp", "-1", id), " ")
		if own := ownFields(t, raw, date); !slices.Equal(own, want) {
			t.Errorf("%s: %q, git reads %q", name, own, want)
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
	parents := make([]string, len(c.Parents))
	for i, parent := range c.Parents {
		parents[i] = parent.String()
	}
	fields := []string{c.Tree.String(), strings.Join(parents, " ")}
	for _, p := range []Person{c.Author, c.Committer} {
		_, zone := p.When().Zone()
		sign := '+'
		if zone < 0 {
			zone, sign = -zone, '-'
		}
		fields = append(fields, p.Name, p.Email, fmt.Sprintf("%d %c%02d%02d", p.When().Unix(), sign, zone/3600,
			zone/60%60))
	}
	return fields
}
