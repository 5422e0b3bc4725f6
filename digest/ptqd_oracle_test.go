package digest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// oracleScript lets an installed pt-query-digest answer for itself: it evaluates the program's own rewriter package.
const oracleScript = `
use strict;
my $src = do { local $/; open my $f, '<', $ARGV[0] or die; <$f> };
my ($pkg) = $src =~ /(package QueryRewriter;.*?\n1;\n)/s;
eval "no strict; no warnings; { $pkg }" or die $@;
binmode STDIN; binmode STDOUT;
my $qr = QueryRewriter->new();
local $/ = "\0";
while ( defined(my $q = <STDIN>) ) { chomp $q; local $/ = "\n"; print $qr->fingerprint($q), "\0"; }
`

// Pieces that meet in queries and upset one another.
var oraclePieces = strings.Split("select|SELECT|insert into|INSERT IGNORE INTO|REPLACE INTO|insert  ignore into|insert|values|VALUES|value|in|IN|union|union all|UNION|limit|LIMIT|offset|order by|ORDER BY|asc|ASC|ascii(a)|null|NULL|nullx|true|FALSE|falsey|call|call p|use|use db|from|t1|sbtest12|a.b|t.1|x|b|xb|0xDEADBEEF|0xdeadbeef|1e5|1.5|-1|+|-|--|-- a|-- it's|#|# x|/*|*/|/**/|/*!40101|/* c */|'|\"|\\'|\\\"|\\\\|`|'abc'|\"abc\"|'it''s'|x'41'|b'01'|?|,|;|(|)|()|(1)|(1,2)|(?)|((1,2),(3))| |  |\n|\r\n|\t|\v|\f|.|=|@|_|é|\xff|a|ab|f|d|ON DUPLICATE KEY UPDATE a=a+1|where a=1|select a from t where b=2|select 1|now()|administrator command: Quit|SELECT /*!40001 SQL_NO_CACHE */ * FROM `|/*a.b:1/2*/|/*a.b:11/2*/|limit 5, 10|limit 1 offset 2|desc|begin|commit|a+1|t_1_2|\x85|\xa0|1.false|select a from t union all select a from t|in (1), (2)|in ()|nullx1|xnull|\r", "|")

func oracleQuery(r *rand.Rand) string {
	var b strings.Builder
	blank := r.IntN(3) > 0
	for range 1 + r.IntN(14) {
		b.WriteString(oraclePieces[r.IntN(len(oraclePieces))])
		if blank && r.IntN(4) > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// TestPtqdEqualsTheReference asks an installed pt-query-digest 3.2.1 for the fingerprints of thousands of odd queries.
func TestPtqdEqualsTheReference(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED in short mode: equality of fingerprints with pt-query-digest")
	}
	program, err := exec.LookPath("pt-query-digest")
	if err != nil {
		t.Skip("NOT TESTED: pt-query-digest is not installed (Debian package percona-toolkit)")
	}
	if v, _ := exec.Command(program, "--version").Output(); !bytes.Contains(v, []byte(" 3.2.1")) {
		t.Skipf("NOT TESTED: pt-query-digest 3.2.1 wanted, found %s", v)
	}
	n := 20000
	r := rand.New(rand.NewPCG(3, 21))
	if os.Getenv("DIGEST_ORACLE_LONG") != "" {
		n = 600000
		r = rand.New(rand.NewPCG(rand.Uint64(), 1))
	}
	queries := make([]string, n)
	for i := range queries {
		queries[i] = oracleQuery(r)
	}
	cmd := exec.Command("perl", "-e", oracleScript, program)
	cmd.Stdin = strings.NewReader(strings.Join(queries, "\x00") + "\x00")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run the reference: %v: %s", err, stderr.Bytes())
	}
	answers := bytes.Split(out, []byte{0})
	if len(answers) != n+1 {
		t.Fatalf("reference gave %d answers to %d queries", len(answers)-1, n)
	}
	bad := 0
	for i, q := range queries {
		if got := ptqdSlow(nil, []byte(q)); !bytes.Equal(got, answers[i]) {
			t.Errorf("query %q\n got %q\nwant %q", q, got, answers[i])
			if bad++; bad > 8 {
				t.FailNow()
			}
		}
	}
}
