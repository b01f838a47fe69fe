#!/bin/sh
# Installs the command in a dev container, for all users. The options of the feature come as SERVER and VERSION.
set -eu
if [ -z "${SERVER:-}" ]; then
  echo 'Set the option "server" of the feature to the address of your Underpass server.' >&2
  exit 1
fi
if [ "${VERSION:-latest}" != latest ]; then
  UNDERPASS_VERSION=$VERSION
  export UNDERPASS_VERSION
fi
script=$(curl -fsSL --connect-timeout 20 "${SERVER%/}/install.sh")
UNDERPASS_INSTALL_DIR="${UNDERPASS_INSTALL_DIR:-/usr/local/bin}" sh -c "$script"
