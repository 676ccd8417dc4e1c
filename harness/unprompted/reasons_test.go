package unprompted

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

// declaredReasons reads the values of all constants called Reason..., sorted.
func declaredReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "evaluate.go", nil, parser.SkipObjectResolution)
	testenv.Must(t, err)
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "Reason") {
			return true
		}
		text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		testenv.Must(t, err)
		out = append(out, text)
		return true
	})
	slices.Sort(out)
	return out
}
