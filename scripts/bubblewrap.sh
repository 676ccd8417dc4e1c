#!/bin/sh
# Makes sure that there is bubblewrap, which the tests shut sessions in with.
# Only root on Linux with apt gets it installed; anyone else is told what to
# type, for nobody expects a test to change their machine.
set -eu

[ "$(uname -s)" = Linux ] || exit 0
command -v bwrap >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq </dev/null >&2
	apt-get install -y -qq --no-install-recommends bubblewrap </dev/null >&2
fi
command -v bwrap >/dev/null || {
	echo "bubblewrap: bwrap is not on the PATH and the tests need it" >&2
	echo "bubblewrap: hint: apt-get install bubblewrap" >&2
	exit 1
}
