#!/usr/bin/env bash
# Puts a broker of Kafka where `make kafka` finds it: the one that is released, from Maven Central, with what it needs at run time.
# Java and Maven come from Debian where they are missing (root). Nothing is started, and nothing but this target and a benchmark uses them.
#
#   scripts/kafka.sh   ~/.cache/stowage/kafka-VERSION (44 MB, some seconds); complete when its file version is there
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/maven.sh

version=$(sed -n 's/^const brokerVersion = "\(.*\)"$/\1/p' e2e/long/kafka/broker_test.go)
from_maven "kafka-$version" "org.apache.kafka:kafka_2.13:$version" org.slf4j:slf4j-simple:1.7.36
