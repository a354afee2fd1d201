package definition

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// maxParsed bounds the Go files that are parsed, in bytes: a syntax tree takes some thirty times as much memory.
// Larger files are looked at line by line.
const maxParsed = 1 << 20

// goDefinitions returns the names of functions, methods, types, constants and variables of a package, by
// line. It reports false if the text is too large, or not Go.
func goDefinitions(text []byte) (map[int][]string, bool) {
	if len(text) > maxParsed {
		return nil, false
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, false
	}
	defined := make(map[int][]string)
	add := func(name *ast.Ident) {
		line := files.PositionFor(name.Pos(), false).Line
		defined[line] = append(defined[line], name.Name)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(name)
					}
				}
			}
		}
	}
	return defined, true
}
