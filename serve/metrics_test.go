package serve

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestMetricsAreForPrometheusWithItsTokenOnly: the token opens /metrics and no page, and without one there is no other way in.
func TestMetricsAreForPrometheusWithItsTokenOnly(t *testing.T) {
	s := newStage()
	ask := func(path, host, token string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+path, nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Result()
	}
	if got := ask("/metrics", here, "").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got)
	}
	if got := ask("/metrics", here, "guess").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("no token was given to the server, and one opens it: %d", got)
	}
	const word = "0123456789abcdef0123"
	s.Scraper = word
	answer := ask("/metrics", here, word)
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || string(body) != "stowage_build_info 1\n" || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("with it: %d %q %v", answer.StatusCode, body, err)
	}
	for path, token := range map[string]string{"/metrics": word + "0", "/": word, "/plan": word, "/api/overview": word} {
		if got := ask(path, here, token).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("%s with %s: %d", path, token, got)
		}
	}
	if got := ask("/metrics", "evil.example:8306", word).StatusCode; got != http.StatusMisdirectedRequest {
		t.Errorf("by another name: %d", got)
	}
	s.fault = errors.New("the store is broken")
	if got := ask("/metrics", here, word).StatusCode; got != http.StatusInternalServerError {
		t.Errorf("half of the series would be answered: %d", got)
	}
}
