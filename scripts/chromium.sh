#!/bin/sh
# Prints the path of a Chromium (or Chrome) that the tests of the report's page can drive.
#
# Usage: chromium.sh [--find]
#
# Looks at $SPARKRANK_CHROMIUM, then at the usual names on the path. Where there is none, root on Debian gets one
# installed (Ubuntu's package is a snap, which needs a running system); anyone else gets one sentence on stderr and exit
# code 1, and those tests are skipped. With --find nothing is installed. Only the path goes to stdout.
set -eu

find_browser() {
    for browser in "${SPARKRANK_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        [ -n "$browser" ] && path=$(command -v "$browser" 2>/dev/null) && "$path" --version >/dev/null 2>&1 \
            && printf '%s\n' "$path" && return 0
    done
    return 1
}

install_debian() {
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium >&2
}

find_browser && exit 0

if [ "${1:-}" != --find ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "No Chromium found: installing one with apt-get." >&2
    # A fresh image has no package lists, an old one has stale ones: fetch them only then.
    install_debian || { apt-get update >&2 && install_debian; } || true
    find_browser && exit 0
fi

echo "The tests of the report's page need Chromium and none was found: install one (Debian: chromium; Fedora: chromium;" \
    "macOS: Google Chrome), or set SPARKRANK_CHROMIUM to its path; without one they are skipped." >&2
exit 1
