package search_test

import (
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/search/language"
)

// TestNamersHaveTheNamesOfLanguages holds that a search finds the namers of languages by github-linguist's names.
func TestNamersHaveTheNamesOfLanguages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Ada", "Apex", "Assembly", "Astro", "C", "C#", "C++", "Clojure", "Common Lisp", "Crystal", "Cuda",
		"Cython", "D", "Dart", "Elixir", "Elm", "Emacs Lisp", "Erlang", "F#", "Fortran", "Fortran Free Form",
		"GLSL", "Go", "GraphQL", "Groovy", "HCL", "HLSL", "Hack", "Haskell", "Idris", "Java", "JavaScript",
		"Julia", "Kotlin", "Lua", "Luau", "Makefile", "Metal", "Nim", "OCaml", "Objective-C", "Objective-C++",
		"PHP", "PLSQL", "PLpgSQL", "Pascal", "Perl", "PowerShell", "Protocol Buffer", "PureScript", "Python", "R",
		"Racket", "Raku", "Reason", "Ruby", "Rust", "SQL", "Scala", "Scheme", "Shell", "Solidity", "Standard ML",
		"Starlark", "Svelte", "Swift", "TSQL", "TSX", "TypeScript", "Unix Assembly", "Vue", "Zig",
	} {
		if set, err := language.Parse(name); err != nil || !slices.Equal(set.Names(), []string{name}) {
			t.Errorf("%s: %v, %v", name, set.Names(), err)
		}
		if definitions.NamerOf(name).Language() != name {
			t.Errorf("%s has no namer", name)
		}
	}
}
