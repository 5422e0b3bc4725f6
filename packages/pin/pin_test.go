package pin

import "testing"

func TestPinsAreReadAndNothingElse(t *testing.T) {
	for text, good := range map[string]bool{
		"mariadb-server=1:10.11.19-0+deb12u1": true, "libstdc++6x=1.0~rc1": true, "g1=0": true,
		"mariadb-server": false, "mariadb-server=": false, "-o=1": false, "a=1": false, "mariadb*=1": false, "mariadb-server=stable": false,
		"mariadb-server=1 2": false, "mariadb-server-=1": false, "mariadb-server+=1": false, "Maria=1": false, "../x=1": false, "mariadb=1/sid": false,
	} {
		p, err := Parse(text)
		if (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
		if good && p.String() != text {
			t.Errorf("%s became %s", text, p)
		}
	}
}

func TestSeries(t *testing.T) {
	for version, want := range map[string][2]string{
		"1:10.11.19-0+deb12u1": {"10.11.19", "10.11"}, "1:11.8.2-1": {"11.8.2", "11.8"}, "8.4.5-1debian12": {"8.4.5", "8.4"}, "3": {"3", "3"}, "1:10.11.6+maria~deb12": {"10.11.6+maria~deb12", "10.11"},
	} {
		if got := [2]string{Upstream(version), Series(version)}; got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}
