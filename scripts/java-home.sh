#!/bin/sh
# Prints the home of a Java runtime that Spark 4 can use (17 or newer).
#
# Looks at $JAVA_HOME, then at `java` on the path. Where neither will do, root on a Debian-like system gets one
# installed; anyone else gets one sentence on stderr and exit code 1. Only the home goes to stdout.
set -eu

OLDEST=17

# The home of the runtime that the command $1 starts; fails if it does not run or is too old. The runtime is asked
# itself: links, shims and macOS's stub in /usr/bin say nothing about where Java lives.
home_of() {
    properties=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    version=$(printf '%s\n' "$properties" | sed -n 's/^ *java\.specification\.version = \([0-9]*\).*/\1/p')
    home=$(printf '%s\n' "$properties" | sed -n 's/^ *java\.home = //p')
    [ -n "$home" ] && [ "${version:-0}" -ge "$OLDEST" ] && printf '%s\n' "$home"
}

# Debian's own folders come last: there an older Java may stay first on the path.
find_home() {
    for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" java /usr/lib/jvm/java-*-openjdk-*/bin/java; do
        [ -n "$java" ] && command -v "$java" >/dev/null 2>&1 && home_of "$java" && return 0
    done
    return 1
}

# Debian 13 has dropped 17 and offers 21.
install_debian() {
    for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$package" >&2 && return 0
    done
    return 1
}

find_home && exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "No Java $OLDEST or newer found: installing one with apt-get." >&2
    # A fresh image has no package lists, an old one has stale ones: fetch them only then.
    install_debian || { apt-get update >&2 && install_debian; } || true
    find_home && exit 0
fi

echo "Spark needs Java $OLDEST or newer and none was found: install one (Debian, Ubuntu: openjdk-17-jre-headless;" \
    "Fedora: java-21-openjdk-headless; macOS: brew install openjdk@17) and set JAVA_HOME or put java on the path." >&2
exit 1
