package resources

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// declaredReasons are the constants of errors.go.
func declaredReasons(t *testing.T) (reasons []Reason) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Reason" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons = append(reasons, Reason(value))
		}
		return true
	})
	return reasons
}

func TestEveryReasonHasItsCodes(t *testing.T) {
	declared := declaredReasons(t)
	slices.Sort(declared)
	if len(declared) < 15 || !slices.Equal(declared, Reasons()) {
		t.Errorf("declared are %v, codes have %v", declared, Reasons())
	}
	for reason, code := range codes {
		if code[SessionEra] >= 0 || code[ModernEra] >= 0 {
			t.Errorf("%s has the codes %v", reason, code)
		}
	}
}
