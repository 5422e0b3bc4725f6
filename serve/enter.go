package serve

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
)

// Viewer is somebody who may look, by a token of their own.
type Viewer struct{ Name, Token string }

// longestForm is how many bytes a form that signs in may have.
const longestForm = 4 << 10

// enter takes the token of the link, and leads on by a page rather than a redirection: a browser that came from somewhere else does not send a strict cookie along with one.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	_, known := s.door.visitor(r)
	token, given := r.URL.Query()["token"]
	switch {
	case known:
	case r.Method == http.MethodHead: // somebody looks at the link and does not open it
		return
	case !given && s.Viewers != nil:
		s.askToken(w, http.StatusOK, "Who is there?", "Sign in with your token.")
		return
	case !given || !s.door.enter(token[0]):
		s.refuse(w, r, http.StatusForbidden, "This link was used, or is of another start.", "Stop stowage serve and start it again: it prints a new link.")
		return
	default:
		s.Log.Info("signed in", "viewer", linked, "from", placeOf(r.RemoteAddr))
		s.door.grant(w, s.door.session)
	}
	s.write(w, http.StatusOK, "enter.html", nil)
}

// signIn takes the form with a token: the one request that is not a question. A page of somebody else cannot send it.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		s.askToken(w, http.StatusForbidden, "This form was sent by another page.", "Sign in here.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, longestForm)
	if err := r.ParseForm(); err != nil {
		status := http.StatusBadRequest
		if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
			status = http.StatusRequestEntityTooLarge
		}
		s.askToken(w, status, "This form cannot be read.", "Sign in with your token.")
		return
	}
	token := strings.TrimSpace(r.PostForm.Get("token"))
	name, wait := s.viewer(r, token)
	switch {
	case wait > 0:
		sayWait(w, wait)
		s.askToken(w, http.StatusTooManyRequests, "Too many wrong tokens came from this address.", fmt.Sprintf("Try again in %d s.", seconds(wait)))
	case name == "":
		s.askToken(w, http.StatusForbidden, "No viewer has this token.", "Ask the person who runs stowage serve whether it is still in the file of tokens.")
	default:
		s.Log.Info("signed in", "viewer", name, "from", placeOf(r.RemoteAddr))
		s.door.grant(w, s.door.sessionOf(token))
		http.Redirect(w, r, "/", http.StatusSeeOther) // the form is of this site, so the cookie goes along
	}
}

// viewer says who has a token; "": nobody. While wait is above 0 no token from this address is looked at.
func (s *Server) viewer(r *http.Request, token string) (name string, wait time.Duration) {
	if wait = s.door.misses.mayTry(r.RemoteAddr); wait > 0 {
		return "", wait
	}
	proof := s.door.proofOf(token)
	name, found := s.door.find(proof, s.door.proofOf)
	if !found && s.door.misses.note(r.RemoteAddr, proof) {
		s.Log.Warn("a wrong token", "from", placeOf(r.RemoteAddr))
	}
	return name, 0
}

// bearer is the token that a script sends.
func bearer(r *http.Request) (token string, sent bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// letIn says who looks. A script may send its token with each request to /api. Where nobody is let in, it has answered.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) (name string, known bool) {
	if name, known = s.door.visitor(r); known {
		return name, true
	}
	token, sent := bearer(r)
	if s.Viewers == nil || !sent || !isAPI(r) {
		s.askWho(w, r)
		return "", false
	}
	name, wait := s.viewer(r, strings.TrimSpace(token))
	switch {
	case wait > 0:
		sayWait(w, wait)
		s.refuse(w, r, http.StatusTooManyRequests, "too many wrong tokens came from this address", fmt.Sprintf("try again in %d s", seconds(wait)))
	case name == "":
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.refuse(w, r, http.StatusUnauthorized, "no viewer has this token", "ask the person who runs stowage serve whether it is still in the file of tokens")
	}
	return name, name != ""
}

// askWho answers who has no session.
func (s *Server) askWho(w http.ResponseWriter, r *http.Request) {
	const link = "Open the link that stowage serve has printed. It works once, in one browser; another start prints another."
	switch {
	case s.Viewers != nil && isAPI(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.refuse(w, r, http.StatusUnauthorized, "who is there?", "send a token of the file of tokens: Authorization: Bearer TOKEN")
	case s.Viewers != nil:
		s.askToken(w, http.StatusUnauthorized, "Who is there?", "Sign in with your token, or open the link that stowage serve has printed.")
	default:
		s.refuse(w, r, http.StatusUnauthorized, "Who is there?", link)
	}
}

// askToken writes the form.
func (s *Server) askToken(w http.ResponseWriter, status int, text, hint string) {
	w.Header().Set("Referrer-Policy", "same-origin") // with no-referrer a browser does not say where the form comes from
	s.write(w, status, "signin.html", struct {
		fault
		IsWrong bool
	}{fault{text, hint}, status >= http.StatusBadRequest && status != http.StatusUnauthorized})
}

func sayWait(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", fmt.Sprint(seconds(wait)))
}

// seconds are whole ones, rounded up.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, apiPath) }
