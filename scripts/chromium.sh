#!/bin/sh
# Makes sure that there is Chromium, which the tests look at the pages with. Only
# root on Linux with apt gets it installed; anyone else is told what to type, for
# nobody expects a test to change their machine.
set -eu

found() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }

[ "$(uname -s)" = Linux ] || exit 0
found && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq </dev/null >&2
	apt-get install -y -qq --no-install-recommends chromium </dev/null >&2
fi
found || {
	echo "chromium: it is not on the PATH and the tests need it" >&2
	echo "chromium: hint: apt-get install chromium" >&2
	exit 1
}
