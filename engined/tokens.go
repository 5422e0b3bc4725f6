package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/encoding/protowire"
)

// tokenKey signs the tokens of tasks that hosts are given. The server's own tokens are plain counters and names: who has read one
// history could write the token of a task that another host has taken. With a signature over host and token only the host that was
// given a task can answer it.
type tokenKey []byte

const (
	tokenKeySize = 32
	// tokenField is a field that the server's message of a token does not have: it reads a signed token as if it were its own.
	tokenField = 7001
)

// openTokenKey reads the key that is beside the engine's file, or makes it: tokens outlive a restart of the engine.
func openTokenKey(path string) (tokenKey, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open key of tokens: %w", err)
	}
	defer f.Close()
	about, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open key of tokens: %w", err)
	}
	if !about.Mode().IsRegular() || about.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("open key of tokens: others may read %s (mode %04o): remove it, a new one is made", path, about.Mode().Perm())
	}
	key := make([]byte, tokenKeySize)
	_, err = io.ReadFull(f, key)
	if err == nil {
		return key, nil
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read key of tokens: %w", err)
	}
	// Missing, or cut short by a death: nobody holds a token under it yet.
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make key of tokens: %w", err)
	}
	if _, err := f.WriteAt(key, 0); err != nil {
		return nil, fmt.Errorf("write key of tokens: %w", err)
	}
	if err := f.Sync(); err != nil {
		return nil, fmt.Errorf("write key of tokens: %w", err)
	}
	return key, nil
}

func (k tokenKey) sign(host string, token []byte) []byte {
	h := hmac.New(sha256.New, k)
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(host)))
	h.Write(size[:])
	h.Write([]byte(host))
	h.Write(token)
	return h.Sum(nil)
}

// seal appends the signature.
func (k tokenKey) seal(host string, token []byte) []byte {
	out := protowire.AppendTag(append([]byte(nil), token...), tokenField, protowire.BytesType)
	return protowire.AppendBytes(out, k.sign(host, token))
}

// open takes the signature off a token that this host was given.
func (k tokenKey) open(host string, token []byte) ([]byte, error) {
	refused := serviceerror.NewPermissionDenied("this host was not given that task", "")
	end := len(k.seal("", nil))
	if len(token) <= end {
		return nil, refused
	}
	plain := token[:len(token)-end]
	if !hmac.Equal(token, k.seal(host, plain)) {
		return nil, refused
	}
	return plain, nil
}
