#!/bin/sh
# Installs the underpass command for this user:  curl -fsSL @ORIGIN@/install.sh | sh
# Needs no root. Checks the SHA-256 of the download and, with openssl 3, its Ed25519 signature.
# Run it again to update; it does nothing if the version is installed.
#   UNDERPASS_VERSION      this version instead of the newest
#   UNDERPASS_INSTALL_DIR  this folder instead of ~/.local/bin
set -eu

unsigned=

# Quoted, so that the shell runs nothing in the address.
origin=$(
  cat <<'ORIGIN'
@ORIGIN@
ORIGIN
)
# The public key of releases: SPKI, base64. Empty if the server has none.
release_key=$(
  cat <<'KEY'
@RELEASE_KEY@
KEY
)

main() {
  case $origin in
    https://*) redirects==https ;;
    http://*) redirects==http,https ;;
    *) fail "this script must come from an Underpass server" ;;
  esac
  platform=$(find_platform)
  version=${UNDERPASS_VERSION:-$(newest_version)}
  case $version in
    '' | *[!0-9A-Za-z.-]*) fail "$origin offers no release" ;;
  esac
  folder=${UNDERPASS_INSTALL_DIR:-${HOME:?HOME is not set}/.local/bin}
  name=underpass-$version-$platform
  program=$folder/underpass

  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  fetch "$origin/releases/$version/SHA256SUMS" "$work/sums" || fail "$origin has no version $version"
  check_signature
  wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\$/\1/p" "$work/sums")
  [ -n "$wanted" ] || fail "version $version has no program for $platform"

  if [ -f "$program" ] && [ "$(sum_of "$program")" = "$wanted" ]; then
    say "underpass $version is already in $folder"
  else
    install_program
    say "underpass $version is in $folder"
  fi
  say_path
}

# Refuses sums that the key did not sign. Sets $unsigned if this machine cannot check the signature.
check_signature() {
  case $release_key in
    '') unsigned="this server publishes no release key" && return ;;
    *[!0-9A-Za-z+/=]*) fail "the key of this script is damaged" ;;
  esac
  printf -- '-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n' "$release_key" >"$work/key"
  can_verify || { unsigned="openssl 3 is needed to check the signature" && return; }
  fetch "$origin/releases/$version/SHA256SUMS.sig" "$work/signature.txt" || fail "version $version is not signed; nothing was installed"
  openssl base64 -d -A -in "$work/signature.txt" -out "$work/signature" 2>/dev/null || true
  openssl pkeyutl -verify -pubin -inkey "$work/key" -rawin -in "$work/sums" -sigfile "$work/signature" >/dev/null 2>&1 ||
    fail "the signature of version $version does not match the key of $origin; nothing was installed"
}

# Older versions, and LibreSSL on macOS, read no Ed25519 key or verify only data that is already hashed.
can_verify() {
  command -v openssl >/dev/null 2>&1 || return 1
  case $(openssl pkeyutl -help 2>&1) in *-rawin*) ;; *) return 1 ;; esac
  openssl pkey -pubin -in "$work/key" -noout >/dev/null 2>&1
}

install_program() {
  say "fetching $name from $origin"
  fetch "$origin/releases/$version/$name" "$work/program" || fail "$name cannot be fetched"
  actual=$(sum_of "$work/program")
  [ "$actual" = "$wanted" ] || fail "$name has SHA-256 $actual, expected was $wanted; nothing was installed"
  mkdir -p "$folder" || fail "$folder cannot be made; set UNDERPASS_INSTALL_DIR"
  # Write into the same folder first, so that mv replaces the program in one step.
  draft=$folder/.underpass.$$
  cp "$work/program" "$draft" 2>/dev/null || fail "$folder cannot be written; set UNDERPASS_INSTALL_DIR"
  chmod 755 "$draft"
  mv -f "$draft" "$program"
  [ -z "$unsigned" ] || say "only the SHA-256 was checked: $unsigned"
}

find_platform() {
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no release for $(uname -s); for Windows see $origin/install.ps1" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) processor=x64 ;;
    aarch64 | arm64) processor=arm64 ;;
    *) fail "there is no release for processors of type $(uname -m)" ;;
  esac
  # Under Rosetta, uname reports x86_64 on an Apple processor.
  if [ "$system" = darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then processor=arm64; fi
  if [ "$system" = linux ] && is_musl; then
    fail "the release needs the GNU C library; on this system use the container image"
  fi
  printf '%s-%s\n' "$system" "$processor"
}

is_musl() {
  for file in /lib/ld-musl-*; do
    [ -e "$file" ] && [ ! -e /lib64/ld-linux-x86-64.so.2 ] && [ ! -e /lib/ld-linux-aarch64.so.1 ] && return 0
  done
  return 1
}

# The list is newest first.
newest_version() {
  releases=$(fetch "$origin/api/releases" -) || fail "$origin does not answer"
  printf '%s\n' "$releases" | tr ',{' '\n\n' | sed -n 's/.*"version" *: *"\([^"]*\)".*/\1/p' | sed -n 1p
}

# fetch URL FILE, - for standard output
fetch() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsSL --proto-redir "$redirects" --connect-timeout 20 -o "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -T 20 -O "$2" "$1"
  else
    fail "curl or wget is needed"
  fi
}

sum_of() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum <"$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 <"$1" | cut -d ' ' -f 1
  elif command -v openssl >/dev/null 2>&1; then
    openssl dgst -sha256 <"$1" | sed 's/.*= *//'
  else
    fail "sha256sum, shasum or openssl is needed to check the download"
  fi
}

say_path() {
  case :$PATH: in
    *:"$folder":*) say "next: underpass login --server $origin" ;;
    *)
      say "$folder is not on your PATH. Add this line to the start-up file of your shell:"
      say "  export PATH=\"$folder:\$PATH\""
      say "next: $program login --server $origin"
      ;;
  esac
}

say() { printf '%s\n' "$*"; }

fail() {
  printf 'install: %s\n' "$*" >&2
  exit 1
}

# The last line starts everything, so that a script cut off in the middle does nothing.
main
