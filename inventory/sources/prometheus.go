package sources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stowage/internal/lazy"
	"stowage/inventory/claims"
)

// usualQueries are what mysqld_exporter and node_exporter say.
var usualQueries = map[claims.Kind]map[string]string{
	claims.Instance: {"alive": "mysql_up", "server_id": "mysql_global_variables_server_id", "read_only": "mysql_global_variables_read_only", "memory": "mysql_global_variables_innodb_buffer_pool_size"},
	claims.Host:     {"memory": "node_memory_MemTotal_bytes", "cores": `count by (instance) (node_cpu_seconds_total{mode="idle"})`},
}

// exporterPort is where mysqld_exporter listens by itself, beside a server on
// its usual port. Others need a label with the server's own address.
const exporterPort = ":9104"

// prometheus asks the HTTP API. Each attribute is a query; the value is the
// sample's, or, with ATTRIBUTE: QUERY -> LABEL, a label's. name is the label
// with the subject's name.
func (r *reader) prometheus(ctx context.Context) error {
	wait := r.spec.Timeout
	if wait == 0 {
		wait = usualWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	queries := r.spec.Attributes
	if len(queries) == 0 {
		queries = usualQueries[r.subject(claims.Instance)]
	}
	for _, attribute := range sortedKeys(queries) {
		query, label, _ := strings.Cut(queries[attribute], " -> ")
		body, err := r.ask(ctx, "query", query, nil)
		if err != nil {
			return err
		}
		if err := r.samples(body, attribute, query, strings.TrimSpace(label)); err != nil {
			return err
		}
	}
	return nil
}

// ask asks one of the API's endpoints, query or query_range, which takes more.
func (r *reader) ask(ctx context.Context, endpoint, query string, more url.Values) ([]byte, error) {
	form := url.Values{"query": {query}}
	for k, v := range more {
		form[k] = v
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.spec.URL+"/api/v1/"+endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	begun := time.Now()
	answer, err := http.DefaultClient.Do(req)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("query %s: no answer within %s", query, time.Since(begun).Round(100*time.Millisecond))
	}
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the address is in the report, and may hold a password
		}
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		var said struct{ Error string }
		_ = json.Unmarshal(body, &said) // a proxy may have answered
		return nil, errors.New(strings.TrimSpace(fmt.Sprintf("query %s: %s %s", query, answer.Status, said.Error)))
	}
	r.at = time.Now()
	return body, nil
}

// samples reads an instant vector.
func (r *reader) samples(body []byte, attribute, query, label string) error {
	var answer struct {
		Status string
		Data   struct {
			ResultType string
			Result     []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("query %s: the answer is not Prometheus': %w", query, err)
	}
	if answer.Data.ResultType != "vector" {
		return fmt.Errorf("query %s: the answer is a %s, and a vector is wanted", query, answer.Data.ResultType)
	}
	place := claims.Place{Where: bare(r.spec.URL) + " " + query}
	name := r.spec.Called
	if name == "" {
		name = "instance"
	}
	for _, x := range answer.Data.Result {
		subject := x.Metric[name]
		if subject == "" {
			r.fault(place, "a series has no label %q", name)
			continue
		}
		if host, ok := strings.CutSuffix(subject, exporterPort); ok && r.subject(claims.Instance) == claims.Instance {
			subject = host + ":3306"
		}
		value, _ := x.Value[1].(string)
		if label != "" {
			value = x.Metric[label]
		} else if v, err := strconv.ParseFloat(value, 64); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			continue // no value
		} else {
			value = strconv.FormatFloat(v, 'f', -1, 64)
		}
		before := len(r.claims)
		r.say(claims.Subject{Kind: r.subject(claims.Instance), Name: subject}, attribute, value, place)
		if at, ok := x.Value[0].(float64); ok && len(r.claims) > before {
			r.claims[before].At = time.UnixMilli(int64(at * 1000)).UTC()
		}
	}
	return nil
}

var userinfo = lazy.Regexp(`//\S*@`)

// bare is an address without user and password.
func bare(address string) string { return userinfo().ReplaceAllString(address, "//") }
