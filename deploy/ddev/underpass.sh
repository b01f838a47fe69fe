#!/usr/bin/env bash
# A share provider of DDEV. Copy it to .ddev/share-providers/underpass.sh, then: ddev share --provider=underpass
# DDEV reads the address from the first line of standard output, and ends this script to end the tunnel.
set -euo pipefail
# shellcheck disable=SC2086 # The arguments come as one text.
exec underpass http "$DDEV_LOCAL_URL" --print url ${DDEV_SHARE_ARGS:-}
