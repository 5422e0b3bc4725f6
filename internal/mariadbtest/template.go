package mariadbtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"stowage/internal/keeper"

	"golang.org/x/sys/unix"
)

// recipe makes the accounts of the template. The app account has no
// administrative privilege on purpose: GRANT ALL would let it write to a
// read-only server.
var recipeMariaDB = []string{
	"DELETE FROM mysql.proxies_priv",
	"DELETE FROM mysql.global_priv WHERE User='' OR (User='root' AND Host NOT IN ('localhost'))",
	"FLUSH PRIVILEGES",
	"GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO app@'%' IDENTIFIED BY 'app-password'",
	"GRANT REPLICATION SLAVE ON *.* TO repl@'%' IDENTIFIED BY 'repl-password'",
	"GRANT ALL PRIVILEGES ON *.* TO stowage@'%' IDENTIFIED BY 'stowage-password' WITH GRANT OPTION",
	"GRANT ALL PRIVILEGES ON *.* TO root@'127.%' IDENTIFIED BY 'root-password' WITH GRANT OPTION",
	"ALTER USER root@localhost IDENTIFIED BY 'root-password'",
}

// template is the datadir that instances are copied from. It is made once and
// kept, per server version and recipe; the lock lets one test process make it
// while others wait.
func (h *home) template() (string, error) {
	version, err := exec.Command(h.line.Server, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", h.line.Server, err)
	}
	sum := sha256.Sum256([]byte(string(version) + h.line.lean() + strings.Join(h.line.recipe(), ";") + "; sparse"))
	dir := filepath.Join(h.data, fmt.Sprintf("template-%x", sum[:6]))
	unlock, err := lock(filepath.Join(h.dir, "template.lock"), unix.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	making := dir + ".making"
	if err := os.RemoveAll(making); err != nil {
		return "", err
	}
	if err := h.makeTemplate(making); err != nil {
		return "", fmt.Errorf("make template datadir: %w", err)
	}
	// Most of what a server lays out is zeros: as holes they cost a copy no time.
	sparse := dir + ".sparse"
	if err := errors.Join(os.RemoveAll(sparse), copyTree(making, sparse, "--sparse=always"), os.RemoveAll(making)); err != nil {
		return "", err
	}
	return dir, os.Rename(sparse, dir)
}

func (h *home) makeTemplate(dir string) error {
	if err := h.mkdir(dir); err != nil {
		return err
	}
	// The install script reads the option file for the InnoDB file layout.
	config := dir + ".cnf"
	defer os.Remove(config)
	if err := os.WriteFile(config, []byte("["+h.line.group()+"]\n"+h.line.lean()), 0o644); err != nil {
		return err
	}
	if h.line.MySQL {
		return h.makeTemplateMySQL(dir, config)
	}
	args := []string{"--defaults-file=" + config, "--datadir=" + dir, "--auth-root-authentication-method=normal", "--skip-test-db"}
	if h.account != nil {
		args = append(args, "--user=mysql")
	}
	if out, err := exec.Command(h.line.InstallDB, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
	}
	return h.applyRecipe(dir, config)
}

// applyRecipe starts the new datadir once, without network and binary log, and
// makes the accounts.
func (h *home) applyRecipe(dir, config string) error {
	socket := filepath.Join(dir, "sock") // the datadir is all the server may write to
	cmd := exec.Command(h.line.Server, "--defaults-file="+config, "--datadir="+dir, "--socket="+socket, "--skip-networking", "--skip-log-bin", "--pid-file="+socket+".pid")
	cmd.SysProcAttr = h.attributes()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := keeper.Start(cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); cancel(); close(exited) }() // a server that died is not waited for
	err := runRecipe(ctx, socket, h.line.recipe())
	_ = cmd.Process.Signal(syscall.SIGTERM)
	<-exited
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(log.Bytes(), 20))
	}
	return nil
}

func runRecipe(ctx context.Context, socket string, recipe []string) error {
	db, err := sql.Open("mysql", "root@unix("+socket+")/")
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	for ; err != nil && ctx.Err() == nil; conn, err = db.Conn(ctx) {
		time.Sleep(20 * time.Millisecond) // a failed dial returns at once
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, q := range recipe {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// copyTree copies the template with owners and modes; cp knows reflinks.
func copyTree(from, to string, options ...string) error {
	out, err := exec.Command("cp", append(options, "-a", "--reflink=auto", from, to)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}
