#!/usr/bin/env python3
"""Claims of Chef node files: address, memory and cores of hosts, as Ohai found them.

Attributes are merged in Chef's order: default, normal, override, automatic.
What Ohai found is as old as its last run, which is said with each claim.
"""
import datetime
import json
import pathlib
import sys


def merged(node):
    out = {}
    for level in ("default", "normal", "override", "automatic"):
        merge(out, node.get(level) or {})
    return out


def merge(into, more):
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def main(directory):
    claims = []
    for path in sorted(pathlib.Path(directory).glob("*.json")):
        node = json.loads(path.read_text())
        found = merged(node)
        at = found.get("ohai_time")
        when = {"at": datetime.datetime.fromtimestamp(at, datetime.timezone.utc).isoformat()} if at else {}
        values = {"address": found.get("ipaddress"), "cores": (found.get("cpu") or {}).get("total")}
        memory = (found.get("memory") or {}).get("total")  # "98835104kB"
        if memory:
            values["memory"] = int(memory.removesuffix("kB")) * 1024
        for attribute, value in values.items():
            if value is not None:
                claims.append({"kind": "host", "subject": node["name"], "attribute": attribute, "value": value, "place": str(path), **when})
    json.dump(claims, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
