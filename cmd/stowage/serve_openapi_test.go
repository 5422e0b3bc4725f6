package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"stowage/bench/decide"
	"stowage/bench/engine/sheet"
	"stowage/bench/matrix"
	"stowage/bench/result"
	"stowage/digest"
	"stowage/placement"
	"stowage/serve"
)

// described is one path of /api: what it answers with, one of several types for the same path.
type describedPath struct {
	path, is, query string // query is "NAME what it is"
	answers         []any
}

var describedPaths = []describedPath{
	{"/api/overview", "The farm in figures, the newest plan, run, benches and digests.", "", []any{serve.Overview{}}},
	{"/api/moves", "The newest run of any act: stowage status --json.", "", []any{moveStatus{}}},
	{"/api/rolls", "The newest roll, host by host.", "", []any{rollView{}}},
	{"/api/reshape", "Tenants by spec and shard, and waves.", "", []any{reshapesView{}}},
	{"/api/backups", "Backups and their proofs: stowage backup status --json, and more.", "", []any{knownBackup{}}},
	{"/api/sources", "The newest stowage inventory check, and who feeds whom.", "", []any{known{}}},
	{"/api/runway", "Days that are left: stowage capacity --json.", "", []any{capacityAnswer{}}},
	{"/api/load", "What each shard needs.", "", []any{loadView{}}},
	{"/api/queries", "Load by class over time: stowage digest history --json.", "", []any{digest.Trend{}}},
	{"/api/findings", "Findings of the newest inventory, and of the newest stowage tune --all.", "", []any{findingsView{}}},
	{"/api/bench", "What is in bench/ of the workspace.", "", []any{serve.BenchList{}}},
	{"/api/bench/show", "One result of a bench, or a decision, or results compared: stowage bench show, decide or compare --json.", "f file of /api/bench; several are compared with the oldest of them",
		[]any{result.Result{}, matrix.Document{}, sheet.Result{}, decide.Outcome{}, result.Comparison{}, comparedView{}}},
	{"/api/plan", "A plan: stowage plan show NAME --json.", "name of the plan; without one the newest", []any{placement.Plan{}}},
	{"/api/proof", "Traffic before and after: stowage digest compare --json.", "", []any{digest.Comparison{}}},
}

// describe makes the document.
func describe(t *testing.T) jsonObject {
	t.Helper()
	d := &describer{t: t, schemas: jsonObject{}, types: map[string]reflect.Type{}, read: map[string]map[string]string{}, holds: map[string]any{"Overview.Move": moveStatus{}}}
	paths := jsonObject{}
	refusals := jsonObject{}
	for status, text := range map[string]string{
		"401": "No session, and no token that is in the file of tokens.", "404": "There is nothing of the kind; hint says how it is made.", "422": "It cannot be read: error says what and why.",
		"429": "Too many wrong tokens came from this address; Retry-After says when to try again.", "500": "It cannot be read: error says what and why.",
	} {
		refusals[status] = jsonObject{"description": text, "content": jsonObject{"application/json": jsonObject{"schema": jsonObject{"$ref": "#/components/schemas/Refusal"}}}}
	}
	for _, p := range describedPaths {
		var schemas []any
		for _, a := range p.answers {
			schemas = append(schemas, d.of(reflect.TypeOf(a)))
		}
		schema := schemas[0]
		if len(schemas) > 1 {
			schema = jsonObject{"anyOf": schemas}
		}
		responses := jsonObject{"200": jsonObject{"description": p.is, "content": jsonObject{"application/json": jsonObject{"schema": schema}}}}
		for status := range refusals {
			responses[status] = jsonObject{"$ref": "#/components/responses/" + status}
		}
		get := jsonObject{"summary": p.is, "operationId": strings.ReplaceAll(strings.TrimPrefix(p.path, "/api/"), "/", "_"), "responses": responses}
		if name, what, has := strings.Cut(p.query, " "); has {
			parameter := jsonObject{"name": name, "in": "query", "description": what, "schema": jsonObject{"type": "string"}}
			if name == "f" {
				parameter["required"], parameter["schema"] = true, jsonObject{"type": "array", "items": jsonObject{"type": "string"}, "minItems": 1}
			}
			get["parameters"] = []any{parameter}
		}
		paths[p.path] = jsonObject{"get": get}
	}
	d.schemas["Refusal"] = jsonObject{"type": "object", "description": "Why there is no answer.", "required": []any{"error", "hint"}, "properties": jsonObject{
		"error": jsonObject{"type": "string"}, "hint": jsonObject{"type": "string", "description": "What to do; may be empty."}}}
	return jsonObject{
		"openapi": "3.1.0",
		"info": jsonObject{"title": "Stowage", "version": "1", "description": "The facts of one workspace, as stowage serve shows them. All of it is read-only. Quantities are in base units: bytes, seconds, watts, per second. " +
			"Every object with format_version keeps the meaning of its fields for as long as that number stays; fields may be added."},
		"servers":  []any{jsonObject{"url": "/"}},
		"security": []any{jsonObject{"token": []any{}}, jsonObject{"session": []any{}}},
		"paths":    paths,
		"components": jsonObject{"schemas": d.schemas, "responses": refusals, "securitySchemes": jsonObject{
			"token":   jsonObject{"type": "http", "scheme": "bearer", "description": "A token of the file of --tokens."},
			"session": jsonObject{"type": "apiKey", "in": "cookie", "name": "stowage8306", "description": "What the printed link, or signing in, gives out; the name ends with the port and begins with __Host- over TLS."},
		}},
	}
}

// TestOpenAPI writes what describes the answers of /api, with -update, and otherwise finds it as it would be written.
func TestOpenAPI(t *testing.T) {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(describe(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want.Bytes(), openAPI) {
		t.Error("a type of an answer has changed: go test ./cmd/stowage -run TestOpenAPI -update, and look at what is new")
	}
}

// closed has every object refuse fields that are not described.
func closed(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = closed(v[i])
		}
	case jsonObject:
		for k := range v {
			v[k] = closed(v[k])
		}
		if _, is := v["properties"].(jsonObject); is && v["type"] == "object" {
			v["additionalProperties"] = false
		}
	}
	return v
}

// contract is the document in a form in which nothing but what it describes is right.
type contract struct{ *openapi3.T }

// readContract reads the document, which has to be a right one.
func readContract(t *testing.T) contract {
	t.Helper()
	var raw any
	if err := json.Unmarshal(openAPI, &raw); err != nil {
		t.Fatal(err)
	}
	strict, err := json.Marshal(closed(raw))
	if err != nil {
		t.Fatal(err)
	}
	var out contract
	for _, text := range [][]byte{openAPI, strict} {
		if out.T, err = openapi3.NewLoader().LoadFromData(text); err == nil {
			err = out.Validate(t.Context())
		}
		if err != nil {
			t.Fatalf("it is no OpenAPI document: %v", err)
		}
	}
	return out
}

// hold says why an answer is not as the document has it.
func (c contract) hold(path string, status int, text []byte) error {
	found := c.Paths.Find(path)
	if found == nil {
		return errors.New("the path is not described")
	}
	response := found.Get.Responses.Status(status)
	if response == nil {
		return fmt.Errorf("the answer %d is not described", status)
	}
	var answer any
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("%w in %.300s", err, text)
	}
	return response.Value.Content.Get("application/json").Schema.Value.VisitJSON(answer, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors())
}

// filled puts something into every field of a value, as deep as types go before they come again.
func filled(v reflect.Value, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), depth+1)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 26, 12, 0, 0, 5e6, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				filled(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			filled(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		filled(key, depth+1)
		filled(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	}
}

// TestTypesAreAsOpenAPISays holds every type of an answer against the document, with nothing in it and with something in every field; and the document against answers
// that are wrong.
func TestTypesAreAsOpenAPISays(t *testing.T) {
	c := readContract(t)
	for _, p := range describedPaths {
		for _, a := range p.answers {
			for _, isFull := range []bool{false, true} {
				v := reflect.New(reflect.TypeOf(a)).Elem()
				if isFull {
					filled(v, 0)
				}
				if o, is := v.Addr().Interface().(*serve.Overview); is {
					o.Move = moveStatus{}
				}
				text, err := json.Marshal(v.Interface())
				if err == nil {
					err = c.hold(p.path, http.StatusOK, text)
				}
				if err != nil {
					t.Errorf("%s, %T, full %v: %.1500v", p.path, a, isFull, err)
				}
			}
		}
	}
	right := `{"format_version": 1, "results": [{"file": "a", "kind": "run"}]}`
	if err := c.hold("/api/bench", http.StatusOK, []byte(right)); err != nil {
		t.Errorf("a right answer: %v", err)
	}
	for what, wrong := range map[string]string{
		"a field that is not described": strings.Replace(right, `"kind"`, `"colour": "red", "kind"`, 1),
		"a required field is missing":   strings.Replace(right, `"file": "a", `, "", 1),
		"another type":                  strings.Replace(right, `"a"`, `1`, 1),
		"null":                          strings.Replace(right, `"a"`, `null`, 1),
	} {
		if c.hold("/api/bench", http.StatusOK, []byte(wrong)) == nil {
			t.Errorf("taken for right: %s", what)
		}
	}
}

// TestAnswersAreAsOpenAPISays asks every path in several workspaces, and compares each answer with the document that the server gives out: types match, what is
// required is there, and no field is there that is not described.
func TestAnswersAreAsOpenAPISays(t *testing.T) {
	full := servedWorkspace(t)
	lookedAt(t, full)
	s := serveNow(t, full)
	s.enter()
	if status, text := s.get("/api/openapi.json"); status != http.StatusOK || text != string(openAPI) {
		t.Fatalf("/api/openapi.json: %d", status)
	}
	c := readContract(t)
	held := map[string]int{} // answers by path and status
	hold := func(s *servedScene, path string) {
		t.Helper()
		status, text := s.get(path)
		at, err := url.Parse(path)
		if err == nil {
			err = c.hold(at.Path, status, []byte(text))
		}
		if err != nil {
			t.Fatalf("%s of %s, %d: %.1500v", path, s.dir, status, err)
		}
		held[fmt.Sprint(at.Path, " ", status)]++
	}
	queries := map[string][]string{
		"/api/bench/show": {"?f=bench/new.json", "?f=bench/old.json&f=bench/new.json", "?f=bench/decision.yaml", "?f=bench/broken.json", "?f=none", ""},
		"/api/plan":       {"", "?name=first", "?name=none"},
	}
	scenes := []*servedScene{s}
	for _, dir := range []string{emptyOfBackups(t), backedWorkspace(t), reshapedWorkspace(t), rolledWorkspace(t, 10)} {
		x := serveNow(t, dir)
		x.enter()
		scenes = append(scenes, x)
	}
	for _, s := range scenes {
		for _, p := range describedPaths {
			if all, has := queries[p.path]; has {
				for _, q := range all {
					hold(s, p.path+q)
				}
				continue
			}
			hold(s, p.path)
		}
	}
	stranger := &servedScene{t: t, dir: full, base: s.base, http: http.DefaultClient}
	for _, p := range describedPaths {
		hold(stranger, p.path)
		for _, status := range []int{http.StatusOK, http.StatusUnauthorized} {
			if held[fmt.Sprint(p.path, " ", status)] == 0 {
				t.Errorf("%s: no answer %d was compared with the document", p.path, status)
			}
		}
	}
	t.Logf("answers held: %v", slices.Sorted(maps.Keys(held)))
	if status, text := stranger.get("/api/openapi.json"); status != http.StatusUnauthorized {
		t.Errorf("without a session: %d %.200s", status, text)
	}
	if status, text := s.get("/api/nowhere"); status != http.StatusNotFound || !strings.Contains(text, `"error": "`) {
		t.Errorf("a path that is none: %d %s", status, text)
	}
	for _, p := range serve.APIPaths() {
		if c.Paths.Find(p) == nil {
			t.Errorf("%s is answered and not described", p)
		}
	}
}
