package language_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-enry/go-enry/v2"
	"github.com/go-enry/go-enry/v2/data"

	"github.com/repomcp/repomcp/internal/search/language"
)

func parse(t *testing.T, names ...string) language.Set {
	t.Helper()
	set, err := language.Parse(names...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// is asks name and content as a search does.
func is(set language.Set, path, content string) bool {
	switch set.ByName(path) {
	case language.Yes:
		return true
	case language.No:
		return false
	default:
		return set.ByFirstLine([]byte(content))
	}
}

func TestFilesOfALanguage(t *testing.T) {
	tests := []struct {
		path, content string
		is, isNot     string
	}{
		{"a/main.go", "", "go", "c"},
		{"a/main.go", "", "golang", "python"},
		{"MAIN.GO", "", "Go", "Python"},
		{"dir/Makefile", "", "makefile", "go"},
		{"CMakeLists.txt", "", "cmake", "text"},
		{"x.h", "int f(void);\n", "c", "go"},
		{"x.h", "int f(void);\n", "c++", "shell"}, // it may be
		{"run", "#!/usr/bin/env -S python3.11 -u\n", "python", "shell"},
		{"run", "#!/bin/bash\n", "shell", "python"},
		{"run", "no first line of that kind", "", "shell"},
		{"run", "", "", "shell"},
		{"a.d.ts", "", "typescript", "javascript"},
		{"x.unknown-extension", "", "", "go"},
		{".bashrc", "", "shell", "go"},
		{"x.pl", "use strict;\nmy $x = 1;\n", "perl", "python"},
		{"Jupyter.ipynb", "", "jupyter notebook", "json"},
		{"q.cls", "\\NeedsTeXFormat{LaTeX2e}\n\\ProvidesClass{x}\n", "tex", "go"},
	}
	for _, test := range tests {
		if test.is != "" && !is(parse(t, test.is), test.path, test.content) {
			t.Errorf("%s is not %s", test.path, test.is)
		}
		if is(parse(t, test.isNot), test.path, test.content) {
			t.Errorf("%s is %s", test.path, test.isNot)
		}
	}
}

func TestUnknownLanguagesAreRefusedWithCloseOnes(t *testing.T) {
	_, err := language.Parse("pythn")
	var unknown *language.UnknownError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), "Python") {
		t.Errorf("error %v", err)
	}
	if _, err := language.Parse("\x00"); !errors.As(err, &unknown) || len(unknown.Close) != 0 {
		t.Errorf("error %v", err)
	}
}

// The library is the oracle: by its own name, each language has its files.
func TestAgreesWithEnryOnNames(t *testing.T) {
	cases := 0
	for name, languages := range data.LanguagesByFilename {
		for _, l := range languages {
			cases++
			if parse(t, l).ByName("dir/"+name) == language.No {
				t.Errorf("%s is not %s", name, l)
			}
		}
	}
	for extension, languages := range data.LanguagesByExtension {
		for _, l := range languages {
			cases++
			if parse(t, l).ByName("name"+extension) == language.No {
				t.Errorf("*%s is not %s", extension, l)
			}
		}
	}
	for alias, l := range data.LanguageByAliasMap {
		if _, err := language.Parse(alias); err != nil {
			t.Errorf("%s, an alias of %s: %v", alias, l, err)
		}
	}
	if cases < 1500 {
		t.Errorf("only %d names were compared", cases)
	}
}

// Files of Go's own tree, C headers and scripts among them: what the library
// takes a file for, the set of that language has.
func TestAgreesWithEnryOnContents(t *testing.T) {
	cases, unsure := 0, 0
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src")
	err = filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") && cases%40 != 0 {
			cases++
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || len(content) == 0 || len(content) > 20<<10 || enry.IsBinary(content) {
			return err
		}
		want, safe := decided(path, content)
		if want == "" || !safe {
			return nil
		}
		cases++
		set := parse(t, want)
		if set.ByName(path) == language.Unsure {
			unsure++
		}
		if !is(set, path, string(content)) {
			t.Errorf("%s is not %s", path, want)
		}
		return nil
	})
	if err != nil || cases < 1000 || unsure < 5 {
		t.Errorf("%d files were compared, %d by their first line: %v", cases, unsure, err)
	}
}

// decided is the library's answer by the steps that this package has too.
func decided(path string, content []byte) (name string, safe bool) {
	for _, strategy := range []enry.Strategy{enry.GetLanguagesByFilename, enry.GetLanguagesByExtension,
		enry.GetLanguagesByContent} {
		if found := strategy(filepath.Base(path), content, nil); len(found) == 1 {
			return found[0], true
		} else if len(found) > 1 {
			name = found[0]
		}
	}
	if name != "" {
		return name, false
	}
	found := enry.GetLanguagesByShebang("", content, nil)
	if len(found) == 1 {
		return found[0], true
	}
	return "", false
}
