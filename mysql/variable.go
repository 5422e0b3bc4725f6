package mysql

import (
	"context"
	"strconv"
	"strings"
)

// Variable is what a server says of one of its variables: what it is, and where it
// comes from.
type Variable struct {
	Now     string // the global value
	Default string // without any option
	Type    string // BOOLEAN, ENUM, SET, VARCHAR, INT UNSIGNED, ...
	Words   []string
	// From is where the value comes from: CONFIG, COMMAND-LINE, AUTO, SQL, COMPILE-TIME.
	From string
	File string // the option file, where From is CONFIG
}

// VariablesWithOrigin reads variables with where they come from. Of MySQL those that
// usual has: others are left out.
func (s *Server) VariablesWithOrigin(ctx context.Context, names ...string) (map[string]Variable, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	if d.flavor.Vendor != "MariaDB" {
		return s.variablesWithOrigin(ctx, d, names)
	}
	quoted := make([]string, len(names))
	for n, name := range names {
		quoted[n] = quote(strings.ToUpper(name))
	}
	records, err := s.records(ctx, `SELECT LOWER(VARIABLE_NAME) AS name, COALESCE(GLOBAL_VALUE, '') AS now, COALESCE(DEFAULT_VALUE, '') AS usual, VARIABLE_TYPE AS kind,
		COALESCE(ENUM_VALUE_LIST, '') AS words, GLOBAL_VALUE_ORIGIN AS origin, COALESCE(GLOBAL_VALUE_PATH, '') AS file
		FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME IN (`+strings.Join(quoted, ",")+")")
	if err != nil {
		return nil, err
	}
	out := map[string]Variable{}
	for _, r := range records {
		x := Variable{Now: r["now"], Default: r["usual"], Type: r["kind"], From: r["origin"], File: r["file"]}
		if r["words"] != "" {
			x.Words = strings.Split(r["words"], ",")
		}
		out[r["name"]] = x
	}
	return out, nil
}

// Means is what a text in an option file means as a value of the variable, in
// the words of SHOW VARIABLES.
func (x Variable) Means(text string) string {
	word := strings.ToUpper(strings.TrimSpace(text))
	switch {
	case x.Type == "BOOLEAN":
		switch word {
		case "1", "ON", "TRUE", "YES":
			return "ON"
		case "0", "OFF", "FALSE", "NO":
			return "OFF"
		}
	case x.Type == "ENUM":
		if n, err := strconv.Atoi(word); err == nil && n >= 0 && n < len(x.Words) {
			return x.Words[n]
		}
		for _, w := range x.Words {
			if strings.EqualFold(w, word) {
				return w
			}
		}
		if word == "TRUE" || word == "FALSE" { // of an ENUM that has ON and OFF
			return map[string]string{"TRUE": "ON", "FALSE": "OFF"}[word]
		}
	case x.Type == "SET":
		return word
	case strings.Contains(x.Type, "INT"):
		return wholeNumber(word)
	}
	return text
}

// wholeNumber resolves the units of option files: 16K is 16384.
func wholeNumber(text string) string {
	if text == "" {
		return text
	}
	shift := strings.IndexByte("KMGTPE", text[len(text)-1])
	if shift < 0 {
		return text
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 64)
	if err != nil {
		return text
	}
	return strconv.FormatUint(n<<(10*(shift+1)), 10)
}

// IsSame reports whether two values of the variable are one.
func (x Variable) IsSame(a, b string) bool {
	if x.Type != "SET" {
		return strings.EqualFold(x.Means(a), x.Means(b))
	}
	return sameWords(x.Means(a), x.Means(b))
}

// sameWords compares sets. A word that stands for several, as TRADITIONAL in
// sql_mode, comes back with those that it stands for.
func sameWords(a, b string) bool {
	in := func(list string) map[string]bool {
		out := map[string]bool{}
		for _, w := range strings.Split(list, ",") {
			if w = strings.TrimSpace(w); w != "" {
				out[w] = true
			}
		}
		return out
	}
	x, y := in(a), in(b)
	for _, short := range []string{"TRADITIONAL", "ANSI", "ORACLE", "DB2", "MSSQL", "MAXDB", "MYSQL40", "MYSQL323", "POSTGRESQL"} {
		if x[short] && y[short] {
			return true
		}
	}
	if len(x) != len(y) {
		return false
	}
	for w := range x {
		if !y[w] {
			return false
		}
	}
	return true
}

// OptionFiles are the option files that set a variable of the server, as it
// names them; isArgued: others stand on its command line, as mysqld_multi puts
// them there.
func (s *Server) OptionFiles(ctx context.Context) (files []string, isArgued bool, err error) {
	flavor, err := s.Flavor(ctx)
	if err != nil {
		return nil, false, err
	}
	query := `SELECT DISTINCT GLOBAL_VALUE_ORIGIN AS origin, COALESCE(GLOBAL_VALUE_PATH, '') AS file FROM information_schema.SYSTEM_VARIABLES
		WHERE GLOBAL_VALUE_ORIGIN IN ('CONFIG', 'COMMAND-LINE') ORDER BY 1, 2`
	if flavor.Vendor != "MariaDB" {
		query = `SELECT DISTINCT VARIABLE_SOURCE AS origin, VARIABLE_PATH AS file FROM performance_schema.variables_info
			WHERE VARIABLE_SOURCE IN ('GLOBAL', 'SERVER', 'EXPLICIT', 'EXTRA', 'USER', 'COMMAND_LINE') ORDER BY 1, 2`
	}
	records, err := s.records(ctx, query)
	for _, r := range records {
		if r["file"] != "" {
			files = append(files, r["file"])
		} else {
			isArgued = true
		}
	}
	return files, isArgued, err
}
