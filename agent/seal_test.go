package agent

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"stowage/farm"
)

func identities(t *testing.T) (controller, db1, db2, stranger *Identity) {
	t.Helper()
	now := time.Now()
	read := func(i Issued, err error) *Identity {
		if err != nil {
			t.Fatal(err)
		}
		id, err := ReadIdentity(i.Dir, now)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ca, err := OpenAuthority(filepath.Join(t.TempDir(), "ours"), now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := OpenAuthority(filepath.Join(t.TempDir(), "theirs"), now)
	if err != nil {
		t.Fatal(err)
	}
	return read(ca.Controller(now, false)), read(ca.Host("db1", now, false)), read(ca.Host("db2", now, false)), read(other.Controller(now, false))
}

// TestSealedMessages: who may send what to whom.
func TestSealedMessages(t *testing.T) {
	controller, db1, db2, stranger := identities(t)
	now := time.Now()
	ask := askPurpose("db1", "id")
	for name, x := range map[string]struct {
		from, to, reader   *Identity
		purpose            string
		spoil              int // byte that is changed, from the end; 0: none
		refused, notSealed bool
	}{
		"as it should be":             {controller, db1, db1, ask, 0, false, false},
		"another farm's controller":   {stranger, db1, db1, ask, 0, true, false},
		"a host plays the controller": {db2, db1, db1, ask, 0, true, false},
		"another call":                {controller, db1, db1, askPurpose("db1", "other"), 0, true, false},
		"another host's call":         {controller, db1, db1, askPurpose("db2", "id"), 0, true, false},
		"the answer's direction":      {controller, db1, db1, answerPurpose("db1", "id"), 0, true, false},
		"sealed for another":          {controller, db2, db1, ask, 0, false, true},
		"changed on the way":          {controller, db1, db1, ask, 3, true, false},
	} {
		box, err := x.from.seal(x.purpose, x.to.cert, []byte("words"))
		if err != nil {
			t.Fatal(err)
		}
		if x.spoil > 0 {
			box[len(box)-x.spoil] ^= 1
		}
		plain, _, err := x.reader.open(ask, box, RoleController, "", now)
		switch {
		case x.refused && !errors.Is(err, farm.ErrRefused), x.notSealed && !errors.Is(err, errSealed):
			t.Errorf("%s: %v", name, err)
		case !x.refused && !x.notSealed && (err != nil || string(plain) != "words"):
			t.Errorf("%s: %q, %v", name, plain, err)
		}
	}
	// An answer comes from the host that was asked, and from no other.
	box, err := db2.seal(answerPurpose("db1", "id"), controller.cert, []byte("words"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := controller.open(answerPurpose("db1", "id"), box, RoleHost, HostDNS("db1"), now); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("db2 answers for db1: %v", err)
	}
	if _, _, err := controller.open(answerPurpose("db1", "id"), box, RoleHost, HostDNS("db2"), now.AddDate(3, 0, 0)); !errors.Is(err, farm.ErrRefused) {
		t.Error("an expired certificate answers")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte{})
	f.Add(frame([]byte("a"), []byte("b"), []byte("c")))
	var id *Identity
	f.Fuzz(func(t *testing.T, raw []byte) {
		if id == nil {
			id, _, _, _ = identities(t)
		}
		if _, _, err := id.open("x", raw, RoleController, "", time.Now()); err == nil {
			t.Error("opened")
		}
	})
}
