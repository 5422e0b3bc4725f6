#!/usr/bin/env python3
"""Sends clients by an address that moves with the server that serves: for pairs with one writer.

    routing: {kind: exec, program: [hooks/address.py, hooks/address.json], whole: true}

address.json: {"state": "/var/lib/stowage/address",
               "run": ["ssh", "-o", "BatchMode=yes", "root@{host}"],
               "pairs": {"dbshard001": {"address": "10.0.9.1/32", "device": "eth0", "hosts": ["10.0.0.1", "10.0.0.2"]}}}

hosts are all that can have it, those that a move brings, too.

The address is taken from every host that had it before any host gets it. A closed gate is an address that nobody
has: connecting clients wait for as long as their connect timeout, and TCP tries again after 1, 3 and 7 s.
"""
import json, subprocess, sys

import hook

with open(sys.argv[1]) as f:
    config = json.load(f)


def run(host, *command):
    done = subprocess.run([w.format(host=host) for w in config["run"]] + list(command), text=True, capture_output=True, timeout=5)
    if done.returncode != 0:
        raise RuntimeError("%s: %s: %s" % (host, " ".join(command), done.stderr.strip()))
    return done.stdout


def apply(table):
    for pair, home, address, is_open in hook.served(table):
        own, host = config["pairs"][pair], address.rsplit(":", 1)[0]
        hosts = sorted(set(own.get("hosts", [])) | {host})
        for h in hosts:
            has = own["address"].split("/")[0] in run(h, "ip", "-o", "addr", "show", "dev", own["device"])
            if has and (h != host or not is_open):
                run(h, "ip", "addr", "del", own["address"], "dev", own["device"])
        if is_open and own["address"].split("/")[0] not in run(host, "ip", "-o", "addr", "show", "dev", own["device"]):
            run(host, "ip", "addr", "add", own["address"], "dev", own["device"])
            run(host, "arping", "-c", "2", "-U", "-I", own["device"], own["address"].split("/")[0])


hook.serve(apply, config["state"])
