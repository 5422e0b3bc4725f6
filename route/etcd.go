package route

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// EtcdOptions say where the table is and how to get there.
type EtcdOptions struct {
	Endpoints []string // http://10.0.0.5:2379, all members of one cluster
	Prefix    string   // of every key: /stowage/etsy-2016/
	GoodFor   time.Duration
	// CA, Cert and Key are files in PEM; empty without TLS, or for the
	// system's roots and no certificate of ours.
	CA, Cert, Key  string
	User, Password string        // empty without authentication
	Timeout        time.Duration // of one request to one member; 0: 3 s
}

// NewEtcd is the router that keeps its table in etcd, one key for the head and
// one for each pair, without a lease: routing must not vanish because somebody
// stopped renewing it.
func NewEtcd(o EtcdOptions) (*Shared, error) {
	g, err := newGateway(o)
	if err != nil {
		return nil, &farm.Error{Op: "open routing", Subject: "etcd", Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	return NewShared(&etcdDocuments{gateway: g, prefix: o.Prefix}, "etcd "+strings.Join(o.Endpoints, ", ")+" "+o.Prefix, o.GoodFor), nil
}

// etcdDocuments keeps documents as keys below a prefix; the version of one is
// its mod_revision.
type etcdDocuments struct {
	gateway *gateway
	prefix  string
}

// The messages of etcd's API, as its gateway writes them in JSON: bytes are
// base64, 64-bit numbers are strings.
type (
	etcdRange struct {
		Key      string `json:"key"`
		RangeEnd string `json:"range_end,omitempty"`
	}
	etcdPut struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	etcdOp struct {
		Range  *etcdRange `json:"request_range,omitempty"`
		Put    *etcdPut   `json:"request_put,omitempty"`
		Delete *etcdRange `json:"request_delete_range,omitempty"`
	}
	etcdCompare struct {
		Key    string `json:"key"`
		Target string `json:"target"`
		Result string `json:"result"`
		Mod    string `json:"mod_revision"`
	}
	etcdTxn struct {
		Compare []etcdCompare `json:"compare,omitempty"`
		Success []etcdOp      `json:"success,omitempty"`
	}
	etcdKV struct {
		Key   string `json:"key"`
		Value string `json:"value"`
		Mod   string `json:"mod_revision"`
		Lease string `json:"lease"`
	}
	etcdFound struct {
		KVs  []etcdKV `json:"kvs"`
		More bool     `json:"more"`
	}
	etcdTxnAnswer struct {
		Succeeded bool `json:"succeeded"`
		Responses []struct {
			Range *etcdFound `json:"response_range"`
		} `json:"responses"`
	}
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// prefixEnd is the key behind all that begin with prefix.
func prefixEnd(prefix string) string {
	end := []byte(prefix)
	end[len(end)-1]++ // a prefix ends in "/"
	return string(end)
}

// Load implements Documents. A range, and a transaction of ranges, is of one
// revision, and goes through the leader: a member that is cut off cannot
// answer, rather than answer something old.
func (e *etcdDocuments) Load(ctx context.Context, names ...string) (map[string]string, map[string]int64, error) {
	var ask etcdTxn
	for _, n := range names {
		ask.Success = append(ask.Success, etcdOp{Range: &etcdRange{Key: b64(e.prefix + n)}})
	}
	if len(names) == 0 {
		ask.Success = []etcdOp{{Range: &etcdRange{Key: b64(e.prefix), RangeEnd: b64(prefixEnd(e.prefix))}}}
	}
	var answer etcdTxnAnswer
	if err := e.gateway.read(ctx, "/v3/kv/txn", ask, &answer); err != nil {
		return nil, nil, err
	}
	texts, versions := map[string]string{}, map[string]int64{}
	for _, r := range answer.Responses {
		if r.Range == nil || r.Range.More {
			return nil, nil, e.odd("its answer is not whole")
		}
		for _, kv := range r.Range.KVs {
			name, version, err := e.take(kv, texts)
			if err != nil {
				return nil, nil, err
			}
			versions[name] = version
		}
	}
	return texts, versions, nil
}

func (e *etcdDocuments) take(kv etcdKV, texts map[string]string) (name string, version int64, err error) {
	key, err1 := base64.StdEncoding.DecodeString(kv.Key)
	value, err2 := base64.StdEncoding.DecodeString(kv.Value)
	version, err3 := strconv.ParseInt(kv.Mod, 10, 64)
	name, ours := strings.CutPrefix(string(key), e.prefix)
	if err1 != nil || err2 != nil || err3 != nil || !ours {
		return "", 0, e.odd("its answer cannot be read")
	}
	if kv.Lease != "" && kv.Lease != "0" {
		return "", 0, &farm.Error{Op: "read routing", Subject: "etcd " + string(key), Err: fmt.Errorf("%w: it has a lease, and goes when the lease ends", farm.ErrRefused),
			Hint: "put its value again without a lease; Stowage never uses one"}
	}
	texts[name] = string(value)
	return name, version, nil
}

func (e *etcdDocuments) odd(text string) error {
	return &farm.Error{Op: "read routing", Subject: "etcd " + e.prefix, Err: fmt.Errorf("%w: %s", farm.ErrInput, text)}
}

// Swap implements Documents.
func (e *etcdDocuments) Swap(ctx context.Context, texts map[string]string, versions map[string]int64) (bool, error) {
	var ask etcdTxn
	for name, version := range versions {
		// A key that is not there has mod_revision 0.
		ask.Compare = append(ask.Compare, etcdCompare{Key: b64(e.prefix + name), Target: "MOD", Result: "EQUAL", Mod: strconv.FormatInt(version, 10)})
	}
	for name, text := range texts {
		key := b64(e.prefix + name)
		if text == "" {
			ask.Success = append(ask.Success, etcdOp{Delete: &etcdRange{Key: key}})
			continue
		}
		ask.Success = append(ask.Success, etcdOp{Put: &etcdPut{Key: key, Value: b64(text)}})
	}
	var answer etcdTxnAnswer
	if err := e.gateway.write(ctx, "/v3/kv/txn", ask, &answer); err != nil {
		return false, err
	}
	return answer.Succeeded, nil
}
