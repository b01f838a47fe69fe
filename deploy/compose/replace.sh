#!/usr/bin/env bash
# Replaces the containers of rolling.yaml by those of the present .env and files, one after the other. Arguments are their order,
# by default that of an upgrade. Stops at the first that does not become healthy: the other edge serves on.
set -euo pipefail
cd "$(dirname "$0")"
(($#)) || set -- control edge-a edge-b

# The balancer answers with an empty line, or with what is wrong.
balance() {
  local answer
  answer=$(docker compose -f rolling.yaml exec -T balancer bash -c \
    'exec 3<>/dev/tcp/127.0.0.1/9999; echo "set server edges_https/$1 state $2; set server edges_http/$1 state $2" >&3; cat <&3' - "$@")
  [[ -z ${answer//[[:space:]]/} ]] || { echo "balancer: $answer" >&2; exit 1; }
}

# Docker starts an image that fails at its start again and again, and --wait would wait for ever.
replace() {
  timeout 300 docker compose -f rolling.yaml up -d --no-deps --wait "$1"
}

for name; do
  echo "replacing $name"
  if [[ $name != edge-* ]]; then
    replace "$name"
    continue
  fi
  # A connection that reaches an edge in the moment in which it closes its port would be reset.
  balance "$name" drain
  replace "$name"
  balance "$name" ready
  # Clients look for a second edge at the latest after 35 s.
  sleep "${UNDERPASS_CLIENTS_SECONDS:-40}"
done
