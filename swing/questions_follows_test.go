package swing

import (
	"testing"

	"stowage/mysql"
)

// A replica of MASTER_USE_GTID = current_pos was said to replicate by file and position.
func TestAReplicaByCurrentPosIsCalledThat(t *testing.T) {
	for using, want := range map[string]string{
		"Current_Pos": "it replicates by MASTER_USE_GTID = current_pos, must be slave_pos",
		"No":          "it replicates by file and position",
	} {
		peer := Peer{Name: "a", Facts: mysql.Facts{Replication: mysql.Replication{UsingGTID: using}}}
		if got := AskByGTID("pair1", peer); len(got) != 1 || got[0].Text != want {
			t.Errorf("%s: %+v", using, got)
		}
	}
}
