package pathspec_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/pathspec"
)

func TestSyntaxErrors(t *testing.T) {
	for given, want := range map[string]string{
		"":                    "empty",
		"a\x00b":              "NUL",
		"/a":                  "leaves the tree",
		"..":                  "leaves the tree",
		"../a":                "leaves the tree",
		"a/../../b":           "leaves the tree",
		":(glob)/a":           "leaves the tree",
		":(glob)../a":         "leaves the tree",
		":(glob":              "is missing",
		":(":                  "is missing",
		":(nope)a":            `"nope" is not known`,
		":(glob,nope)a":       "allowed are top, literal, glob, icase and exclude",
		":(attr:text)a":       "attributes",
		":(prefix:1)a":        `"prefix:1" is not known`,
		":(literal,glob)a":    "exclude each other",
		":(glob)":             "",
		":#a":                 `"#" is not known`,
		":!-a":                `"-" is not known`,
		`:(attr:a\,b,icase)f`: "attributes",
	} {
		_, err := pathspec.New([]string{given}, nil)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", given, err)
			}
			continue
		}
		names := err != nil && strings.HasPrefix(err.Error(), strconv.Quote(given)+" is not a pathspec: ")
		if !errors.Is(err, pathspec.ErrSyntax) || !names || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", given, err, want)
		}
	}
}

func TestListsThatSelectEverything(t *testing.T) {
	for _, c := range []struct {
		paths, excludes []string
		a, b            bool
	}{
		{nil, nil, true, true},
		{[]string{"."}, nil, true, true},
		{[]string{"a", ":/"}, nil, true, true},
		{[]string{"a"}, nil, true, false},
		{[]string{"*"}, nil, true, true},
		{nil, []string{"a"}, false, true},
		{[]string{".", ":!a"}, nil, false, true},
	} {
		s, err := pathspec.New(c.paths, c.excludes)
		if err != nil {
			t.Fatal(err)
		}
		a, b := s.Match([]byte("a"), pathspec.File), s.Match([]byte("b"), pathspec.File)
		if a != c.a || b != c.b {
			t.Errorf("%q without %q: %v for a and %v for b", c.paths, c.excludes, a, b)
		}
	}
}

func TestChecksNameThePathToLookUp(t *testing.T) {
	for _, c := range []struct {
		given, path string
		folder, ok  bool
	}{
		{"a", "a", false, true},
		{"./a//b/", "a/b", true, true},
		{":(literal)a*", "a*", false, true},
		{":/a", "a", false, true},
		{":/a//b", "", false, false},
		{":/a//", "", false, false},
		{":/./a", "", false, false},
		{":/../a", "", false, false},
		{"a*", "", false, false},
		{":(icase)a", "", false, false},
		{":!a", "", false, false},
		{".", "", false, false},
	} {
		s, err := pathspec.New([]string{c.given}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if path, folder, ok := s.Checks()[0].Path(); path != c.path || folder != c.folder || ok != c.ok {
			t.Errorf("%q: %q, %v, %v", c.given, path, folder, ok)
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	s, err := pathspec.New([]string{"a/b", ":(glob)**/*.c", ":(icase)READ*"}, []string{"*.o"})
	if err != nil {
		t.Fatal(err)
	}
	path := []byte("some/folder/a.c")
	if n := testing.AllocsPerRun(100, func() { s.Match(path, pathspec.File) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSpec(f *testing.F) {
	f.Add("a/*", ":(icase)b", "a/b")
	f.Add(":!:*", ":(glob,top)**/a", "x/a")
	f.Fuzz(func(t *testing.T, include, exclude, path string) {
		s, err := pathspec.New([]string{include}, []string{exclude})
		if err != nil {
			if !errors.Is(err, pathspec.ErrSyntax) {
				t.Error(err)
			}
			return
		}
		for c := range strings.SplitSeq(path, "/") {
			if c == "" {
				t.Skip("not a path")
			}
		}
		alone, err := pathspec.New([]string{include}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []pathspec.Kind{pathspec.File, pathspec.Folder, pathspec.Gitlink} {
			selected := s.Match([]byte(path), kind)
			if selected && !alone.Match([]byte(path), kind) {
				t.Errorf("%q selects %q only without %q", include, path, exclude)
			}
			for _, check := range s.Checks() {
				if found, enter := check.Match([]byte(path), kind); found && enter || enter && kind != pathspec.Folder {
					t.Errorf("found %v and enter %v", found, enter)
				}
			}
		}
	})
}
