package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// derivation makes schemas from types and, for what reflection does not know,
// from their sources: doc comments and the constants of closed sets.
type derivation struct {
	docs   map[string]string // by pkg.Type.Field
	consts map[string][]any  // by pkg.Type
	read   map[string]bool   // packages
}

func newDerivation() *derivation {
	return &derivation{make(map[string]string), make(map[string][]any), make(map[string]bool)}
}

// schema derives the schema of an output, as its file has it.
func (d *derivation) schema(o output) ([]byte, error) {
	s, err := jsonschema.ForType(o.shape, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}})
	if err != nil {
		return nil, err
	}
	if err := d.describe(o.shape, s); err != nil {
		return nil, err
	}
	if s.Properties["schema"] == nil {
		s.PropertyOrder, s.Required = append([]string{"schema"}, s.PropertyOrder...), append([]string{"schema"}, s.Required...)
	}
	s.Properties["schema"] = &jsonschema.Schema{Const: jsonschema.Ptr[any](o.schema), Description: "The $id of this schema."}
	head, err := json.Marshal(&jsonschema.Schema{Schema: "https://json-schema.org/draft/2020-12/schema", ID: o.schema, Title: o.of()})
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = json.Indent(&text, fmt.Appendf(nil, "%s,%s\n", bytes.TrimSuffix(head, []byte("}")), rest[1:]), "", "  ")
	return text.Bytes(), err
}

// describe adds to a schema what the sources say of its type.
func (d *derivation) describe(t reflect.Type, s *jsonschema.Schema) (err error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case !strings.HasPrefix(t.PkgPath(), "loopd/") && t.PkgPath() != "":
		return nil
	case t.Kind() == reflect.String:
		s.Enum, err = d.values(t)
		return err
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		return d.describe(t.Elem(), s.Items)
	case t.Kind() == reflect.Map:
		s.Type, s.Types = "", []string{"null", "object"} // which the library does for lists alone
		return d.describe(t.Elem(), s.AdditionalProperties)
	case t.Kind() != reflect.Struct:
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p == nil {
			continue
		}
		owner := t
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = owner.Field(i).Type
		}
		if err := d.readPackage(owner.PkgPath()); err != nil {
			return err
		}
		p.Description = d.docs[owner.PkgPath()+"."+owner.Name()+"."+f.Name]
		if err := d.describe(f.Type, p); err != nil {
			return err
		}
		switch always := options == ""; {
		case always && len(p.Enum) > 0 && !slices.Contains(p.Enum, any("")):
			p.Enum = append(p.Enum, "") // it may say nothing
		case !always && len(p.Types) > 0: // it is left out where it would be null
			p.Type, p.Types = p.Types[1], nil
		}
	}
	return nil
}

// values are the constants of a string type, none where the set is open.
func (d *derivation) values(t reflect.Type) ([]any, error) {
	if err := d.readPackage(t.PkgPath()); err != nil || t.PkgPath() == "" {
		return nil, err
	}
	return slices.Clone(d.consts[t.PkgPath()+"."+t.Name()]), nil
}

// readPackage reads the sources of one of our packages, once.
func (d *derivation) readPackage(pkg string) error {
	if pkg == "" || d.read[pkg] {
		return nil
	}
	d.read[pkg] = true
	files, err := filepath.Glob(filepath.Join("../..", strings.TrimPrefix(pkg, "loopd/"), "*.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no sources of %s: %v", pkg, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			for i := 0; ok && i < len(g.Specs); i++ {
				d.spec(pkg, g.Tok, g.Specs[i])
			}
		}
	}
	return nil
}

func (d *derivation) spec(pkg string, tok token.Token, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		s, ok := spec.Type.(*ast.StructType)
		for i := 0; ok && i < len(s.Fields.List); i++ {
			for _, name := range s.Fields.List[i].Names {
				d.docs[pkg+"."+spec.Name.Name+"."+name.Name] = comment(s.Fields.List[i].Doc, s.Fields.List[i].Comment)
			}
		}
	case *ast.ValueSpec:
		t, ok := spec.Type.(*ast.Ident)
		for i := 0; ok && tok == token.CONST && i < len(spec.Values); i++ {
			if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value) // it was parsed
				d.consts[pkg+"."+t.Name] = append(d.consts[pkg+"."+t.Name], text)
			}
		}
	}
}

// comment is the first of the comments there is, on one line.
func comment(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}
