// Package packages brings packages of this machine to pinned versions while no
// maintainer script starts or stops a service.
//
// It answers: "can these packages be had and put here, and is it done?" Its main
// type is Apt. Look asks and changes nothing, Fetch downloads, Install installs,
// Settle says how things stand after a kill, Upgrade runs mariadb-upgrade where
// a server needs it. Each runs as the command of an order on a host: package
// command sees to it that it does so once.
//
// Invariants: a package that is not named, or built from the source of one that
// is, is neither changed nor removed. A policy-rc.d of somebody else comes back
// as it was, the same file: it is moved aside and back, never copied. Nothing is
// installed while a server of this machine runs.
//
// The package knows apt only, and neither farms nor what serves whom: whoever
// calls it has taken the host out and stopped its servers.
package packages
