// Package egnyte holds the texts of this example: its schema and the application's queries. Package files beside it uses them.
package egnyte

import (
	"embed"
	"fmt"
	"strings"
)

// Schema is schema.sql: CREATE TABLE statements, each ended by a semicolon.
//
//go:embed schema.sql
var Schema string

// Spec is reshape/latest-version.yaml.
//
//go:embed reshape/latest-version.yaml
var Spec string

//go:embed queries/*.sql
var queries embed.FS

// Forms are the names of the queries for a tenant's latest files: three of the normalised tables, and the denormalised one.
var Forms = []string{"grouped", "correlated", "sorted", "denormalised"}

// Query is the application's query of that form, without its comment. It has one parameter, the tenant.
func Query(form string) (string, error) {
	text, err := queries.ReadFile("queries/" + form + ".sql")
	if err != nil {
		return "", fmt.Errorf("query form is %q; it is %s", form, strings.Join(Forms, ", "))
	}
	_, query, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(query), nil
}
