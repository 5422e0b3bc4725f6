#!/usr/bin/env python3
"""Sends clients by ProxySQL: one hostgroup a pair and home.

    routing: {kind: exec, program: [hooks/proxysql.py, hooks/proxysql.json], whole: true}

proxysql.json: {"state": "/var/lib/stowage/proxysql",
                "mysql": [["mariadb", "--defaults-file=/etc/stowage/proxysql1.cnf"], [... the second ProxySQL]],
                "hostgroups": {"dbshard001": {"A": 101, "B": 102}}}

A closed gate is a hostgroup whose server is OFFLINE_SOFT: sessions that have a transaction open end it, others wait,
for mysql-connect_timeout_server_max (set it to 600000 in ProxySQL).
"""
import json, subprocess, sys

import hook

with open(sys.argv[1]) as f:
    config = json.load(f)


def statements(table):
    out = []
    for pair, home, address, is_open in hook.served(table):
        group = config["hostgroups"][pair][home]
        host, port = address.rsplit(":", 1)
        status = "ONLINE" if is_open else "OFFLINE_SOFT"
        out.append("DELETE FROM mysql_servers WHERE hostgroup_id = %d" % group)
        out.append("INSERT INTO mysql_servers (hostgroup_id, hostname, port, status) VALUES (%d, '%s', %d, '%s')" % (group, host, int(port), status))
    return out + ["LOAD MYSQL SERVERS TO RUNTIME", "SAVE MYSQL SERVERS TO DISK"]


def apply(table):
    text = ";\n".join(statements(table)) + ";\n"
    for admin in config["mysql"]:
        done = subprocess.run(admin, input=text, text=True, capture_output=True, timeout=5)
        if done.returncode != 0:
            raise RuntimeError("ProxySQL by %s: %s" % (admin[-1], done.stderr.strip()))


hook.serve(apply, config["state"])
