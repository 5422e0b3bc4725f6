package flame

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

const script = `mariadbd 
	    7f01 futex_wait (/usr/lib/x86_64-linux-gnu/libc.so.6)
	    55d2 row_search_mvcc(unsigned char*, page_cur_mode_t, row_prebuilt_t*) (/usr/sbin/mariadbd)
	    55d1 handler::ha_index_read(void*) (/usr/sbin/mariadbd)

mariadbd 
	ffffffff81 do_syscall_64 ([kernel.kallsyms])
	    55d2 row_search_mvcc(unsigned char*, page_cur_mode_t, row_prebuilt_t*) (/usr/sbin/mariadbd)
	    55d1 handler::ha_index_read(void*) (/usr/sbin/mariadbd)

ib_page_flush
	    55d9 [unknown] (/usr/sbin/mariadbd)

mariadbd
	    55d1 handler::ha_index_read(void*) (/usr/sbin/mariadbd)
`

func TestParse(t *testing.T) {
	g, err := Parse(strings.NewReader(script))
	if err != nil || g.Samples != 4 {
		t.Fatalf("%+v, %v", g, err)
	}
	got := map[string]int{}
	for _, s := range g.Functions() {
		got[s.Name+"@"+s.Module] = s.Samples
	}
	for name, want := range map[string]int{"futex_wait@libc.so.6": 1, "do_syscall_64@kernel": 1, "[unknown]@mariadbd": 1, "handler::ha_index_read@mariadbd": 1} {
		if got[name] != want {
			t.Errorf("%s: %d of %v", name, got[name], got)
		}
	}
	if m := g.Modules(); len(m) != 3 || m[0].Name != "mariadbd" || m[0].Part != 0.5 || g.Unnamed() != 0.25 {
		t.Errorf("%+v, unnamed %v", m, g.Unnamed())
	}
	for _, bad := range []string{"\t 55 f (m)\n", "a\n\t55\n", "a\n\t55 f\n"} {
		if _, err := Parse(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestSVG: it is XML, loads nothing, and every frame has a title that a search finds.
func TestSVG(t *testing.T) {
	g, err := Parse(strings.NewReader(strings.ReplaceAll(script, "ha_index_read", "ha<\"&'>index")))
	if err != nil {
		t.Fatal(err)
	}
	var b, again bytes.Buffer
	if err := errors.Join(g.WriteSVG(&b, "innodb & point", "4 samples"), g.WriteSVG(&again, "innodb & point", "4 samples")); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("the same samples make two pictures")
	}
	in, titles := xml.NewDecoder(&b), 0
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			if a.Name.Local == "href" || a.Name.Local == "src" {
				t.Errorf("it loads %s", a.Value)
			}
		}
		if start.Name.Local == "title" {
			titles++
		}
	}
	if titles != 1+7 { // the picture, and: two threads, ha_index_read, row_search_mvcc, futex_wait, do_syscall_64, unknown
		t.Errorf("%d titles", titles)
	}
}

func TestBare(t *testing.T) {
	for name, want := range map[string]string{
		"f(int)": "f", "std::vector<int (*)(char)>::push_back(int)": "std::vector<int (*)(char)>::push_back", "operator()": "operator()", "(anonymous namespace)::g(int)": "(anonymous namespace)::g", "plain": "plain", "a::(anonymous namespace)::h()": "a::(anonymous namespace)::h",
	} {
		if got := bare(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(script)
	f.Add("a\n\t1 b (c)\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		sum := 0.0
		for _, s := range g.Functions() {
			sum += s.Part
		}
		if g.Samples > 0 && math.Abs(sum-1) > 1e-9 {
			t.Fatalf("shares add up to %v", sum)
		}
		var b bytes.Buffer
		if err := g.WriteSVG(&b, text, text); err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(b.Bytes(), new(struct {
			XMLName xml.Name `xml:"svg"`
		})); err != nil {
			t.Fatal(err)
		}
	})
}
