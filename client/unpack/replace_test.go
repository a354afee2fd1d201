package unpack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scene is a folder in which something happens while a member takes the place of a file.
type scene struct {
	place
	t *testing.T
}

func (s scene) at(path string) string { return filepath.Join(s.dir, filepath.FromSlash(path)) }

// rename saves a file as most editors do.
func (s scene) rename(path, content string) {
	s.t.Helper()
	write(s.t, s.at("beside"), content)
	if err := os.Rename(s.at("beside"), s.at(path)); err != nil {
		s.t.Fatal(err)
	}
}

// append writes more into a file that is there.
func (s scene) append(path, content string) {
	s.t.Helper()
	file, err := os.OpenFile(s.at(path), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = file.WriteString(content)
	if err := errors.Join(err, file.Close()); err != nil {
		s.t.Fatal(err)
	}
}

func (s scene) removeAll(path string) {
	s.t.Helper()
	if err := os.RemoveAll(s.at(path)); err != nil {
		s.t.Fatal(err)
	}
}

// inBothWays runs a test with names that are exchanged, and with renames alone.
func inBothWays(t *testing.T, test func(t *testing.T, inTurns bool)) {
	for _, inTurns := range []bool{false, true} {
		t.Run(fmt.Sprint("in turns ", inTurns), func(t *testing.T) { test(t, inTurns) })
	}
}

var errOfTest = errors.New("an error of the test")

// replacements are what may happen when a file d/f comes, and what is there afterwards.
var replacements = []struct {
	name   string
	before func(s scene)
	// while is what happens when the old one has been taken aside.
	while  func(s scene, aside string)
	yields bool
	err    error
	stays  bool
	has    []string // in d, with exchanged names
	turns  []string // in turns, where that is other
}{
	{name: "nothing is there", has: []string{`f "new"`}},
	{name: "it yields", before: func(s scene) { write(s.t, s.at("d/f"), "old") }, yields: true, has: []string{`f "new"`}},
	{
		name: "it does not yield", before: func(s scene) { write(s.t, s.at("d/f"), "mine") }, stays: true,
		has: []string{`f "mine"`},
	},
	{
		name: "an error", before: func(s scene) { write(s.t, s.at("d/f"), "mine") }, err: errOfTest,
		has: []string{`f "mine"`},
	},
	{
		name: "it is saved when it yields", before: func(s scene) { write(s.t, s.at("d/f"), "old") }, yields: true,
		while: func(s scene, _ string) { s.rename("d/f", "mine") },
		// A program that saves over the new file has had it before it. In turns there is none yet.
		has: []string{`f "mine"`}, stays: false,
	},
	{
		name: "it is saved again", before: func(s scene) { write(s.t, s.at("d/f"), "mine") }, stays: true,
		while: func(s scene, _ string) { s.rename("d/f", "mine too") },
		has:   []string{`f "mine too"`, `f.repomcp-kept "mine"`},
	},
	{
		name: "the new file is changed in place", stays: true,
		before: func(s scene) { write(s.t, s.at("d/f"), "mine") },
		while: func(s scene, _ string) {
			if info, err := os.Lstat(s.at("d/f")); err == nil && info.Mode().IsRegular() { // exchanged
				s.append("d/f", " and changed")
			}
		},
		has: []string{`f "new and changed"`, `f.repomcp-kept "mine"`}, turns: []string{`f "mine"`},
	},
	{
		name: "the new file is removed", before: func(s scene) { write(s.t, s.at("d/f"), "mine") }, stays: true,
		while: func(s scene, _ string) { s.removeAll("d/f") }, has: []string{`f "mine"`},
	},
	{
		name: "a copy is there already", stays: true, before: func(s scene) {
			write(s.t, s.at("d/f"), "mine")
			write(s.t, s.at("d/f.repomcp-kept"), "older")
		},
		while: func(s scene, _ string) { s.rename("d/f", "mine too") },
		has:   []string{`f "mine too"`, `f.repomcp-kept "older"`, `f.repomcp-kept-2 "mine"`},
	},
	{
		name: "an empty folder", before: func(s scene) { write(s.t, s.at("d/f/x"), ""); s.removeAll("d/f/x") },
		has: []string{`f "new"`},
	},
	{
		name: "a folder", before: func(s scene) { write(s.t, s.at("d/f/x"), "mine") }, stays: true,
		has: []string{"f", `f/x "mine"`},
	},
	{
		name: "a folder that yields", before: func(s scene) { write(s.t, s.at("d/f/x"), "old") }, yields: true,
		has: []string{`f "new"`},
	},
	{
		name: "a link", before: func(s scene) { linkAt(s.t, "../../canary", s.at("d/f")) }, yields: true,
		has: []string{`f "new"`},
	},
	{
		name: "a link that does not yield", before: func(s scene) { linkAt(s.t, "../../canary", s.at("d/f")) }, stays: true,
		has: []string{"f -> ../../canary"},
	},
}

func TestNothingIsReplacedUnseen(t *testing.T) {
	inBothWays(t, func(t *testing.T, inTurns bool) {
		for _, r := range replacements {
			for _, member := range []entry{reg("d/f", "new"), reg("d/f", "new"+strings.Repeat(" ", smallFile)),
				sym("d/f", "new")} {
				s := scene{newPlace(t), t}
				if err := os.MkdirAll(s.at("d"), 0o755); err != nil {
					t.Fatal(err)
				}
				if r.before != nil {
					r.before(s)
				}
				s.checkReplacement(r.name, func(u *Unpacker) error {
					u.inTurns = inTurns
					u.options.Choose = func(Member, io.Reader) (Choice, error) {
						return Choice{Yields: func(aside string, _ fs.FileInfo) (bool, error) {
							if r.while != nil {
								r.while(s, aside)
							}
							return r.yields, r.err
						}}, nil
					}
					_, err := u.Tar(t.Context(), bytes.NewReader(archive(t, member)))
					return err
				}, r.err, r.stays, inTurns)
				want := r.has
				if inTurns && r.turns != nil {
					want = r.turns
				}
				s.hasReplaced(r.name, member, want)
			}
		}
	})
}

// checkReplacement runs, and compares what was told with what was to be expected.
func (s scene) checkReplacement(name string, run func(*Unpacker) error, want error, stays, inTurns bool) {
	s.t.Helper()
	var stayed []Stay
	u := New(s.root, Options{Stays: func(stay Stay) error {
		stayed = append(stayed, stay)
		return nil
	}})
	if err := run(u); !errors.Is(err, want) {
		s.t.Errorf("%s: the error is %v, not %v", name, err, want)
	}
	if want == nil && (len(stayed) > 0) != (stays || inTurns && name == "it is saved when it yields") {
		s.t.Errorf("%s: %+v stays", name, stayed)
	}
}

// hasReplaced compares the folder d. The new file has the content of the member.
func (s scene) hasReplaced(name string, member entry, want []string) {
	s.t.Helper()
	want = slices.Clone(want)
	for i, line := range want {
		switch {
		case member.kind != 0 && line == `f "new"`:
			want[i] = "f -> new"
		case member.kind != 0 && strings.HasPrefix(line, `f "new and`):
			return // links are not changed in place
		case member.content != "":
			want[i] = strings.Replace(line, `f "new`, fmt.Sprintf(`f "%.40s`, member.content), 1)
		}
		if len(want[i]) > 45 { // as listings cut it
			want[i] = want[i][:len(`f "`)+40] + `"`
		}
	}
	if got := listing(s.t, s.at("d"), ""); !slices.Equal(got, want) {
		s.t.Errorf("%s: %c of %d bytes: the folder has %q, not %q", name, max(member.kind, 'f'), len(member.content), got,
			want)
	}
	s.outside(s.t)
}

func TestNothingIsRemovedUnseen(t *testing.T) {
	for _, r := range replacements {
		s := scene{newPlace(t), t}
		if err := os.MkdirAll(s.at("d"), 0o755); err != nil {
			t.Fatal(err)
		}
		if r.before != nil {
			r.before(s)
		}
		was := listing(t, s.at("d"), "")
		u := New(s.root, Options{})
		stays, err := u.Remove([]Removal{{Path: "d/f", Yields: func(aside string, _ fs.FileInfo) (bool, error) {
			if _, err := os.Lstat(s.at("d/f")); err == nil {
				t.Errorf("%s: it still has its name", r.name)
			}
			if r.while != nil {
				r.while(s, aside)
			}
			return r.yields, r.err
		}}}, nil)
		if !errors.Is(err, r.err) {
			t.Errorf("%s: %v", r.name, err)
		}
		got := listing(t, s.at("d"), "")
		switch isFolder := len(was) > 0 && was[0] == "f"; {
		case isFolder && !slices.Equal(got, was): // that is another question
			t.Errorf("%s: there is %q, was %q", r.name, got, was)
		case !isFolder && r.err == nil && (len(stays) > 0) != r.stays:
			t.Errorf("%s: %+v stays", r.name, stays)
		case !isFolder && !r.stays && r.err == nil && r.while == nil && len(got) > 0:
			t.Errorf("%s: %q is left", r.name, got)
		case !isFolder && (r.stays || r.err != nil) && !slices.ContainsFunc(got, func(line string) bool {
			return strings.HasSuffix(line, `"mine"`) || strings.HasSuffix(line, "canary")
		}):
			t.Errorf("%s: there is %q", r.name, got)
		}
		s.outside(t)
	}
}

// TestAFileThatIsOpenForWritingStays: what its program writes later is to be found.
func TestAFileThatIsOpenForWritingStays(t *testing.T) {
	s := scene{newPlace(t), t}
	write(t, s.at("f"), "old")
	write(t, s.at("g"), "old")
	var open []*os.File
	for _, path := range []string{"f", "g"} {
		file, err := os.OpenFile(s.at(path), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, file)
	}
	var stays []Stay
	asked := func(string, fs.FileInfo) (bool, error) { return true, errOfTest }
	u := New(s.root, Options{
		Choose: func(Member, io.Reader) (Choice, error) { return Choice{Yields: asked}, nil },
		Stays:  func(stay Stay) error { stays = append(stays, stay); return nil },
	})
	if _, err := u.Tar(t.Context(), bytes.NewReader(archive(t, reg("f", "new")))); err != nil {
		t.Skipf("the file system does not tell of writers: %v", err)
	}
	more, err := u.Remove([]Removal{{"g", asked}}, nil)
	if stays = append(stays, more...); err != nil || len(stays) != 2 || !stays[0].InUse || !stays[1].InUse {
		t.Errorf("%+v, %v", stays, err)
	}
	for _, file := range open {
		_, err := file.WriteString(" and saved")
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	s.has(t, `f "old and saved"`, `g "old and saved"`)
}

// TestSettle looks at what a kill at each moment leaves.
func TestSettle(t *testing.T) {
	const aside = temporaryPrefix + "x-1"
	of := func(s scene) func(string, fs.FileInfo) (Origin, error) {
		return func(path string, info fs.FileInfo) (Origin, error) {
			if info.IsDir() {
				return FromUser, nil
			}
			content, err := os.ReadFile(s.at(path))
			switch string(content) {
			case "old":
				return FromBefore, err
			case "new":
				return FromRun, err
			default:
				return FromUser, err
			}
		}
	}
	for _, c := range []struct {
		name                 string
		at, aside, old       string // contents; "" is nothing
		want                 string
		has                  []string
		asFolder, secondName bool
	}{
		{name: "before", at: "old", aside: "new", has: []string{`f "old"`}},
		{name: "exchanged", at: "new", aside: "old", has: []string{`f "new"`}},
		{name: "exchanged with an edit", at: "new", aside: "mine", has: []string{`f "mine"`}},
		{name: "put back", at: "mine", aside: "new", has: []string{`f "mine"`}},
		{name: "saved again", at: "mine too", aside: "mine", want: "f.repomcp-kept",
			has: []string{`f "mine too"`, `f.repomcp-kept "mine"`}},
		{name: "done", at: "new", has: []string{`f "new"`}},
		{name: "new", aside: "new"},
		{name: "in turns, taken", aside: "new", old: "old", has: []string{`f "old"`}},
		{name: "in turns, an edit is taken", aside: "new", old: "mine", has: []string{`f "mine"`}},
		{name: "in turns, named", at: "new", old: "old", has: []string{`f "new"`}},
		{name: "in turns, saved again", at: "mine", aside: "new", old: "old", has: []string{`f "mine"`}},
		{name: "in turns, an edit and another", at: "mine too", old: "mine", want: "f.repomcp-kept",
			has: []string{`f "mine too"`, `f.repomcp-kept "mine"`}},
		{name: "removed, taken", aside: "old", has: []string{`f "old"`}},
		{name: "removed, an edit is taken", aside: "mine", has: []string{`f "mine"`}},
		{name: "two names of an edit", at: "mine", aside: "mine", secondName: true, has: []string{`f "mine"`}},
		{name: "a folder", at: "new", aside: "mine", asFolder: true, has: []string{"f", `f/x "mine"`}},
	} {
		inBothWays(t, func(t *testing.T, inTurns bool) {
			s := scene{newPlace(t), t}
			for path, content := range map[string]string{"d/f": c.at, "d/" + aside: c.aside, "d/" + aside + "-old": c.old} {
				if content != "" {
					write(t, s.at(path), content)
				}
			}
			if c.asFolder {
				s.removeAll("d/" + aside)
				write(t, s.at("d/"+aside+"/x"), "mine")
			}
			if c.secondName {
				s.removeAll("d/" + aside)
				if err := os.Link(s.at("d/f"), s.at("d/"+aside)); err != nil {
					t.Fatal(err)
				}
			}
			u := New(s.root, Options{})
			u.inTurns = inTurns
			copied, err := u.Settle("d/f", "d/"+aside, of(s))
			if err != nil || copied != strings.ReplaceAll(c.want, "f.", "d/f.") {
				t.Errorf("%s: %q, %v", c.name, copied, err)
			}
			if got := listing(t, s.at("d"), ""); !slices.Equal(got, c.has) {
				t.Errorf("%s: there is %q, not %q", c.name, got, c.has)
			}
		})
	}
}
