package engine

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// What a job hands on through the engine (its input, those of its steps, their results, the kinds and texts of their errors) is
// encrypted and authenticated under a key of the workspace. So a worker carries out what a program of this workspace has begun, and
// believes what one of its workers has answered; having come through the engine proves neither.
const (
	keySize        = 32
	sealedEncoding = "binary/stowage-sealed-1"
	sealedBy       = "stowage-key"
)

// errUnsealed: a payload was not sealed with this workspace's key.
var errUnsealed = errors.New("not sealed with the key of this workspace (.stowage/engine.key)")

// ErrOlder: a job of a Stowage that wrote another format.
var ErrOlder = errors.New("an older Stowage began it: finish or abort the run with that version (stowage resume, stowage abort), then use this one")

// ErrNewer is ErrOlder the other way round.
var ErrNewer = errors.New("a newer Stowage began it: use that version for it")

// readKey reads the key in path, or makes it when there is none. Two programs that make it at once get the same.
func readKey(path string) ([]byte, error) {
	for range 2 {
		key, err := readKeyFile(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return key, err
		}
		if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make key %s: %w", path, err)
		}
	}
	return readKeyFile(path)
}

func readKeyFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	defer f.Close()
	about, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	owner, ok := about.Sys().(*syscall.Stat_t)
	if !about.Mode().IsRegular() || about.Mode().Perm()&0o077 != 0 || !ok || owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("read key %s: it must belong to root or the caller, and no other user may read it (mode %04o): anyone who reads it can forge steps. When no run is under way, remove it; the next run makes a new one",
			path, about.Mode().Perm())
	}
	key := make([]byte, keySize+1)
	n, err := io.ReadFull(f, key)
	if n != keySize {
		return nil, fmt.Errorf("read key %s: it has %d bytes, not %d (%w): bring it back from a backup of the workspace, or, when no run is under way, remove it and a new one is made", path, n, keySize, err)
	}
	return key[:keySize], nil
}

// makeKey puts a whole key in place, or none: it is written under another name first. The link fails when somebody was faster.
func makeKey(path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".engine.key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	_, err = tmp.Write(key)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}

// sealing is the converter of jobs: what the default one writes, sealed; and nothing is read that is not. Safe for many goroutines.
type sealing struct {
	converter.DataConverter
	aead cipher.AEAD
	id   string // names the key, for people
	log  *slog.Logger
}

func newSealing(key []byte, log *slog.Logger) (*sealing, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("seal jobs: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("seal jobs: %w", err)
	}
	sum := sha256.Sum256(append([]byte("stowage engine key "), key...))
	return &sealing{converter.GetDefaultDataConverter(), aead, hex.EncodeToString(sum[:4]), log}, nil
}

func (s *sealing) seal(p *common.Payload) (*common.Payload, error) {
	plain, err := proto.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("seal payload: %w", err)
	}
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails; 2^32 payloads under one key are far away
	return &common.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(sealedEncoding), sealedBy: []byte(s.id)},
		Data:     s.aead.Seal(nonce, nonce, plain, []byte(sealedEncoding)),
	}, nil
}

func (s *sealing) open(p *common.Payload) (*common.Payload, error) {
	if p == nil {
		return nil, nil
	}
	how, data := string(p.GetMetadata()[converter.MetadataEncoding]), p.GetData()
	if how != sealedEncoding || len(data) < s.aead.NonceSize() {
		return nil, fmt.Errorf("%w (it is %q)", errUnsealed, how)
	}
	n := s.aead.NonceSize()
	plain, err := s.aead.Open(nil, data[:n], data[n:], []byte(sealedEncoding))
	if err != nil {
		return nil, fmt.Errorf("%w (key %q, this one is %q)", errUnsealed, p.GetMetadata()[sealedBy], s.id)
	}
	out := &common.Payload{}
	if err := proto.Unmarshal(plain, out); err != nil {
		return nil, fmt.Errorf("open payload: %w", err)
	}
	return out, nil
}

// ToPayload implements converter.DataConverter.
func (s *sealing) ToPayload(value any) (*common.Payload, error) {
	p, err := s.DataConverter.ToPayload(value)
	if err != nil || p == nil {
		return p, err
	}
	return s.seal(p)
}

// ToPayloads implements converter.DataConverter.
func (s *sealing) ToPayloads(values ...any) (*common.Payloads, error) {
	all, err := s.DataConverter.ToPayloads(values...)
	if err != nil {
		return nil, err
	}
	for i, p := range all.GetPayloads() {
		if all.Payloads[i], err = s.seal(p); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// FromPayload implements converter.DataConverter.
func (s *sealing) FromPayload(p *common.Payload, into any) error {
	plain, err := s.open(p)
	if err != nil {
		return err
	}
	return s.DataConverter.FromPayload(plain, into)
}

// FromPayloads implements converter.DataConverter. A workflow whose input is not sealed does not fail, it stands still: the panic ends
// only the present workflow task. A run of an older Stowage must stay as it is, for that one to finish it.
func (s *sealing) FromPayloads(all *common.Payloads, into ...any) error {
	plain := &common.Payloads{}
	for _, p := range all.GetPayloads() {
		open, err := s.open(p)
		if err == nil {
			plain.Payloads = append(plain.Payloads, open)
			continue
		}
		s.log.Error("refused: a payload that no program of this workspace has sealed", "error", err)
		for _, x := range into {
			switch x.(type) {
			case *laneInput:
				panic(fmt.Sprintf("job refused: its input is %v", err))
			}
		}
		return err
	}
	if all == nil {
		plain = nil
	}
	return s.DataConverter.FromPayloads(plain, into...)
}
