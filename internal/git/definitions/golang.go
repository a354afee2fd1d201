package definitions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// parseGo returns the definitions of a file of Go: its functions, methods, types, constants and
// variables. ok is false if the file cannot be parsed. A map that is not nil gets the names by the lines that they are
// in, which may be below those of their definitions.
func parseGo(text []byte, names map[int][]string) (found []Definition, ok bool) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, false
	}
	lines := strings.Split(string(text), "\n")
	g := goFile{files: files, lines: lines, names: names}
	for _, declared := range file.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			g.add(d, d.Doc, 0, d.Name)
		case *ast.GenDecl:
			g.group(d)
		}
	}
	return g.found, true
}

type goFile struct {
	files *token.FileSet
	lines []string
	found []Definition
	names map[int][]string // nil if they are not wanted
}

// group adds the types, constants and variables of a declaration. The specifications in brackets
// are in a definition of their own.
func (g *goFile) group(d *ast.GenDecl) {
	if d.Tok == token.IMPORT {
		return
	}
	depth := 0
	if d.Lparen.IsValid() {
		g.add(d, d.Doc, 0)
		depth = 1
	}
	for _, spec := range d.Specs {
		var node ast.Node = spec
		doc := d.Doc
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if depth == 1 {
				doc = s.Doc
			} else {
				node = d
			}
			g.add(node, doc, depth, s.Name)
		case *ast.ValueSpec:
			if depth == 1 {
				doc = s.Doc
			} else {
				node = d
			}
			g.add(node, doc, depth, s.Names...)
		}
	}
}

// add adds a definition with its comment.
func (g *goFile) add(node ast.Node, doc *ast.CommentGroup, depth int, names ...*ast.Ident) {
	// PositionFor ignores line directives, which name other files.
	line := func(at token.Pos) int { return g.files.PositionFor(at, false).Line }
	d := Definition{Line: line(node.Pos()), End: line(node.End()), Depth: depth, names: []string{}}
	if d.Start = d.Line; doc != nil {
		d.Start = line(doc.Pos())
	}
	d.Text = strings.TrimSpace(g.lines[d.Line-1])
	for _, name := range names {
		d.names = append(d.names, name.Name)
		if at := line(name.Pos()); g.names != nil {
			g.names[at] = append(g.names[at], name.Name)
		}
	}
	g.found = append(g.found, d)
}
