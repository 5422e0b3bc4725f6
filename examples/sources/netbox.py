#!/usr/bin/env python3
"""Claims of NetBox' devices or virtual machines, as /api/dcim/devices/ prints them."""
import json
import sys


def main(path):
    with open(path) as f:
        found = json.load(f)
    claims = []
    for d in found["results"] if isinstance(found, dict) else found:
        if (d.get("status") or {}).get("value") in ("decommissioning", "offline"):
            continue
        values = {"address": ((d.get("primary_ip") or {}).get("address") or "").split("/")[0], "cores": d.get("vcpus")}
        if d.get("memory"):
            values["memory"] = f"{d['memory']}MB"
        if d.get("disk"):
            values["disk"] = f"{d['disk']}GB"
        for attribute, value in values.items():
            if value:
                claims.append({"kind": "host", "subject": d["name"], "attribute": attribute, "value": value, "place": f"{path}: device {d.get('id')}"})
    json.dump(claims, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
