package git

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const oneID = "1234567890abcdef1234567890abcdef12345678"

type named struct {
	name string
	ref  rawRef
}

func packedIn(content string) ([]named, error) { return wantedIn(content, nil) }

func wantedIn(content string, wanted func(name []byte) bool) (list []named, err error) {
	err = scanPackedRefs(strings.NewReader(content), wanted, func(name string, ref rawRef) bool {
		list = append(list, named{name, ref})
		return true
	})
	return list, err
}

// FuzzPackedRefs: only names that git allows come out, each from a line of its own,
// and what is read is the same when it is written again.
func FuzzPackedRefs(f *testing.F) {
	f.Add("# pack-refs with: peeled fully-peeled sorted \n" + oneID + " refs/heads/main\n" + oneID +
		" refs/tags/v1\n^" + oneID + "\n")
	f.Fuzz(func(t *testing.T, content string) {
		list, err := packedIn(content)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("not a typed error: %v", err)
		}
		if len(list) > strings.Count(content, "\n")+1 {
			t.Fatalf("%d refs in %d lines", len(list), strings.Count(content, "\n")+1)
		}
		var again strings.Builder
		for i, n := range list {
			// A lookup of one name has the same result, whatever other refs exist.
			alone, failure := wantedIn(content, func(name []byte) bool { return string(name) == n.name })
			same := slices.DeleteFunc(slices.Clone(list), func(o named) bool { return o.name != n.name })
			if i < 4 && err == nil && (failure != nil || !slices.Equal(alone, same)) {
				t.Fatalf("%q alone: %v, %v, not %v", n.name, alone, failure, same)
			}
			if !validRefName(n.name) || n.ref.symbolic != "" || n.ref.fault != nil ||
				!strings.Contains(content, n.ref.id.String()+" "+n.name) {
				t.Fatalf("%q was read as %q", content, n.name)
			}
			_, _ = fmt.Fprintf(&again, "%v %s\n", n.ref.id, n.name)
			if !n.ref.peeled.IsZero() {
				_, _ = fmt.Fprintf(&again, "^%v\n", n.ref.peeled)
			}
		}
		if same, err := packedIn(again.String()); err != nil || !slices.Equal(same, list) {
			t.Fatalf("%v, then %v, %v", list, same, err)
		}
	})
}

// FuzzLooseRef: a loose ref is one of three things, and an id is one that is there.
func FuzzLooseRef(f *testing.F) {
	f.Add(oneID + "\n")
	f.Add("ref: refs/heads/main\n")
	f.Fuzz(func(t *testing.T, content string) {
		ref := parseLoose(content)
		switch {
		case ref.fault != nil:
			if !errors.Is(ref.fault, ErrCorrupt) || ref.symbolic != "" || !ref.id.IsZero() {
				t.Fatalf("%+v", ref)
			}
		case ref.symbolic != "" || strings.HasPrefix(content, "ref:"):
			if !ref.id.IsZero() || !strings.Contains(content, ref.symbolic) {
				t.Fatalf("%+v", ref)
			}
		case ref.id.IsZero() || !strings.HasPrefix(strings.ToLower(content), ref.id.String()) ||
			parseLoose(ref.id.String()+"\n") != ref:
			t.Fatalf("%q is %v", content, ref.id)
		}
	})
}

// FuzzRefName: the names are those of git check-ref-format, and none leads anywhere.
func FuzzRefName(f *testing.F) {
	f.Add("heads/main")
	f.Fuzz(func(t *testing.T, rest string) {
		name := "refs/" + rest
		valid := validRefName(name)
		if valid && (!filepath.IsLocal(name) || filepath.Clean(name) != name) {
			t.Fatalf("%q leads elsewhere", name)
		}
		if strings.Contains(name, "\x00") {
			if valid {
				t.Fatalf("%q is valid", name)
			}
			return // no argument has it
		}
		if len(name) > maxRefNameBytes {
			return
		}
		if allowed := exec.CommandContext(t.Context(), "git", "check-ref-format", name).Run() == nil; allowed != valid {
			t.Fatalf("%q: git says %v", name, allowed)
		}
	})
}

// FuzzTree: a tree that is accepted has each name once, none that leads elsewhere,
// only modes that git writes, and is the same when it is written again.
func FuzzTree(f *testing.F) {
	id := string(bytes.Repeat([]byte{7}, len(ID{})))
	f.Add([]byte("100644 a\x00" + id + "40000 b\x00" + id + "120000 c\x00" + id + "160000 d\x00" + id))
	f.Fuzz(func(t *testing.T, content []byte) {
		entries, err := parseTree(ID{}, content)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("not a typed error: %v", err)
			}
			return
		}
		seen := make(map[string]bool)
		var again []byte
		for _, e := range entries {
			if seen[e.Name] || !filepath.IsLocal(e.Name) || strings.ContainsAny(e.Name, "/\x00") ||
				strings.EqualFold(e.Name, ".git") {
				t.Fatalf("the name %q", e.Name)
			}
			seen[e.Name] = true
			if e.Mode != e.Mode.Canonical() {
				t.Fatalf("the mode %o", e.Mode)
			}
			again = append(fmt.Appendf(again, "%o %s\x00", uint32(e.Mode), e.Name), e.ID[:]...)
		}
		if same, err := parseTree(ID{}, again); err != nil || !slices.Equal(same, entries) {
			t.Fatalf("%v, then %v, %v", entries, same, err)
		}
	})
}

// FuzzCommit: tree and parents are in the commit's text, and its parts agree.
func FuzzCommit(f *testing.F) {
	f.Add([]byte("tree " + oneID + "\nparent " + oneID +
		"\nauthor A <a@b> 1 +0100\ncommitter C <c@d> 2 -0500\nencoding ISO-8859-1\n\nsubject\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		links, err := ParseCommitLinks(ID{}, content)
		if err != nil {
			if _, again := parseCommit(ID{}, content); again == nil || !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v, and then %v", err, again)
			}
			return
		}
		lower := bytes.ToLower(content)
		for _, id := range append(slices.Clone(links.Parents), links.Tree) {
			if !bytes.Contains(lower, []byte(hex.EncodeToString(id[:]))) {
				t.Fatalf("%v is not in it", id)
			}
		}
		text := ParseCommitText(content)
		commit, err := parseCommit(ID{}, content)
		if err != nil {
			return // a tree of zeros
		}
		if !slices.Equal(commit.Parents, links.Parents) || commit.Tree != links.Tree || commit.Date != links.Date {
			t.Fatalf("%+v and %+v", commit, links)
		}
		if utf8.Valid(content) && !bytes.Contains(content, []byte{0}) && text.Encoding == nil &&
			text.Message != commit.Message {
			t.Fatalf("%q and %q", text.Message, commit.Message)
		}
		if year := commit.Committer.When().UTC().Year(); year < 1970 || year > 9999 {
			t.Fatalf("the year %d", year)
		}
	})
}

// FuzzTagTarget: the target is the id of the first line.
func FuzzTagTarget(f *testing.F) {
	f.Add([]byte("object " + oneID + "\ntype commit\ntag v1\ntagger A <a@b> 1 +0000\n\nmessage\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		target, err := ParseTagTarget(ID{}, content)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("not a typed error: %v", err)
			}
			return
		}
		if !bytes.HasPrefix(content, []byte("object "+target.String())) {
			t.Fatalf("%q leads to %v", content, target)
		}
	})
}

// FuzzPerson: a person is made of parts of the line, and dates are of this world.
func FuzzPerson(f *testing.F) {
	f.Add("A U Thor <author@example.com> 1700000000 +0530")
	f.Fuzz(func(t *testing.T, line string) {
		p, ok := ParsePerson(line)
		if !ok {
			if p != (Person{}) {
				t.Fatalf("%+v", p)
			}
			return
		}
		for _, part := range []string{p.Name, p.Email, p.Digits, p.Zone} {
			if !strings.Contains(line, part) {
				t.Fatalf("%q is not in %q", part, line)
			}
		}
		if strings.ContainsAny(p.Email, ">") || strings.Contains(p.Name, "<") || p.Seconds != 0 && p.Zone == "" {
			t.Fatalf("%+v", p)
		}
		if year := p.When().UTC().Year(); year < 1970 || year > 9999 {
			t.Fatalf("the year %d", year)
		}
	})
}

// FuzzRevision: no part of a revision is ignored, and no number is beyond what is
// followed.
func FuzzRevision(f *testing.F) {
	f.Add("heads/main~3^2^{commit}")
	f.Fuzz(func(t *testing.T, revision string) {
		name, steps, err := splitRevision(revision)
		if refused := (*RevisionError)(nil); err != nil && !errors.As(err, &refused) && !errors.Is(err, ErrNotFound) {
			t.Fatalf("not a typed error: %v", err)
		}
		if err != nil {
			return
		}
		if !strings.HasPrefix(revision, name) || strings.ContainsAny(name, "~^:") ||
			len(steps) > len(revision)-len(name) {
			t.Fatalf("%q is %q with %d steps", revision, name, len(steps))
		}
		for _, s := range steps {
			if s.n < 0 || s.n > maxAncestors+1 || !strings.ContainsRune("~^{", rune(s.mark)) {
				t.Fatalf("%q has the step %+v", revision, s)
			}
		}
	})
}
