package main

import (
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/digest"
)

// jsonObject is an object of JSON.
type jsonObject = map[string]any

// describer makes JSON schemas of the types of answers: names, what may be missing, and what may be null by the rules of encoding/json; what fields mean by their comments.
type describer struct {
	t       *testing.T
	schemas jsonObject
	types   map[string]reflect.Type
	holds   map[string]any // what is in a field of an interface: type.Field
	read    map[string]map[string]string
}

// ownJSON are types that write themselves, and their fields that may be null besides what the fields' types say. What else writes itself is refused.
var ownJSON = map[reflect.Type][]string{
	reflect.TypeFor[digest.Latency](): {"min", "max", "avg", "p50", "p95", "p99", "stddev"},
	reflect.TypeFor[digest.Change]():  {"p95_ratio", "p50_ratio", "p99_ratio", "avg_ratio", "own_p95_ratio", "detectable_ratio", "take_seconds"},
}

var (
	writesJSON = reflect.TypeFor[json.Marshaler]()
	writesText = reflect.TypeFor[encoding.TextMarshaler]()
)

func writes(t, how reflect.Type) bool {
	return t.Kind() != reflect.Interface && (t.Implements(how) || reflect.PointerTo(t).Implements(how))
}

// of is the schema of a type.
func (d *describer) of(t reflect.Type) jsonObject {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return jsonObject{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[digest.Seconds]():
		return jsonObject{"type": []any{"number", "null"}}
	case t.Kind() == reflect.Pointer:
		return orNull(d.of(t.Elem()))
	case t.Kind() == reflect.Struct && t.Name() != "":
		return d.component(t)
	case t.Kind() != reflect.Struct && writes(t, writesJSON):
		d.t.Fatalf("%v writes its JSON itself: say how in ownJSON", t)
	case writes(t, writesText):
		return jsonObject{"type": "string"}
	}
	switch t.Kind() {
	case reflect.String:
		return jsonObject{"type": "string"}
	case reflect.Bool:
		return jsonObject{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return jsonObject{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return jsonObject{"type": "integer"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return jsonObject{"type": []any{"string", "null"}, "contentEncoding": "base64"}
		}
		return jsonObject{"type": []any{"array", "null"}, "items": d.of(t.Elem())}
	case reflect.Array:
		return jsonObject{"type": "array", "items": d.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return jsonObject{"type": []any{"object", "null"}, "additionalProperties": d.of(t.Elem())}
	case reflect.Struct:
		return d.fields(t)
	case reflect.Interface:
		return jsonObject{}
	}
	d.t.Fatalf("%v has no JSON", t)
	return nil
}

// component is a reference to a named type, which is described once.
func (d *describer) component(t reflect.Type) jsonObject {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if t.PkgPath() != reflect.TypeFor[moveStatus]().PkgPath() {
		name = path.Base(t.PkgPath()) + "." + name
	}
	switch known := d.types[name]; {
	case known == nil:
		d.types[name] = t
		d.schemas[name] = d.fields(t)
	case known != t:
		d.t.Fatalf("%v and %v would both be %s", known, t, name)
	}
	return jsonObject{"$ref": "#/components/schemas/" + name}
}

// fields describes a struct.
func (d *describer) fields(t reflect.Type) jsonObject {
	nullable, known := ownJSON[t]
	if !known && writes(t, writesJSON) {
		d.t.Fatalf("%v writes its JSON itself: say how in ownJSON", t)
	}
	if writes(t, writesText) {
		return jsonObject{"type": "string"}
	}
	properties, required := jsonObject{}, []any{}
	d.add(t, properties, &required)
	for _, name := range nullable {
		properties[name] = orNull(properties[name].(jsonObject))
	}
	slices.SortFunc(required, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	out := jsonObject{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if text := d.comments(t.PkgPath())[t.Name()]; text != "" && t.Name() != "" {
		out["description"] = text
	}
	return out
}

// add adds the fields of a struct; those of an embedded one only where it has none of that name.
func (d *describer) add(t reflect.Type, properties jsonObject, required *[]any) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		tag, has := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		of := f.Type
		if f.Anonymous && name == "" && of.Kind() == reflect.Struct {
			embedded = append(embedded, of)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if !has || name == "" {
			name = f.Name
		}
		sometimes := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if held, isHeld := d.holds[t.Name()+"."+f.Name]; isHeld {
			of = reflect.TypeOf(held)
		}
		if sometimes && of.Kind() == reflect.Pointer {
			of = of.Elem() // null would be left out
		}
		s := d.of(of)
		if sometimes && (of.Kind() == reflect.Slice || of.Kind() == reflect.Map) {
			s["type"] = s["type"].([]any)[0]
		}
		if text := d.comments(t.PkgPath())[t.Name()+"."+f.Name]; text != "" {
			s["description"] = text
		}
		if properties[name] = s; !sometimes {
			*required = append(*required, name)
		}
	}
	for _, e := range embedded {
		inner, innerRequired := jsonObject{}, []any{}
		d.add(e, inner, &innerRequired)
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			if _, has := properties[name]; has {
				continue
			}
			if properties[name] = inner[name]; slices.Contains(innerRequired, any(name)) {
				*required = append(*required, name)
			}
		}
	}
}

// orNull lets a value be null, too.
func orNull(s jsonObject) jsonObject {
	switch of := s["type"].(type) {
	case string:
		s["type"] = []any{of, "null"}
	case nil:
		if s["$ref"] != nil {
			out := jsonObject{"anyOf": []any{jsonObject{"$ref": s["$ref"]}, jsonObject{"type": "null"}}}
			if s["description"] != nil {
				out["description"] = s["description"]
			}
			return out
		}
	}
	return s
}

// comments are those of a package's types and their fields: Type, Type.Field.
func (d *describer) comments(pkg string) map[string]string {
	if all, has := d.read[pkg]; has {
		return all
	}
	all := map[string]string{}
	d.read[pkg] = all
	below, ours := strings.CutPrefix(pkg, "stowage/")
	if !ours {
		return all
	}
	files, err := filepath.Glob(filepath.Join("../..", below, "*.go"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, decl := range file.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					noteComments(all, s, firstText(s.Doc, g.Doc))
				}
			}
		}
	}
	return all
}

func noteComments(all map[string]string, s *ast.TypeSpec, doc string) {
	all[s.Name.Name] = doc
	x, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range x.Fields.List {
		for _, name := range f.Names {
			all[s.Name.Name+"."+name.Name] = firstText(f.Comment, f.Doc)
		}
	}
}

// firstText is the first of some comments that says something, as one line.
func firstText(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}
