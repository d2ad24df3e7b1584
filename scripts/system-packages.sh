#!/bin/sh
# Chromium (page tests) and Java 17 (Spark tests): install what is missing if we may, else say which tests are skipped.
set -u

has_chromium() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }
has_java() { java -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])'; }

missing=""
has_chromium || missing="chromium"
has_java || missing="$missing openjdk-17-jre-headless"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing system packages: $missing"
    # One by one: on a release without openjdk-17 Chromium must still be installed.
    apt-get update -qq
    for package in $missing; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
            echo "could not install $package"
    done
fi
has_chromium || echo "no Chromium: the page tests are skipped (sudo apt-get install chromium)"
has_java || echo "no Java 17: the Spark tests are skipped (sudo apt-get install openjdk-17-jre-headless)"
exit 0
