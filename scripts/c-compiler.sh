#!/bin/sh
# Makes sure that there is a C compiler, which the race detector links with.
# Only root on a system with apt gets one installed; anyone else is told what to
# type, for nobody expects a test to change their machine.
set -eu

cc=$(go env CC)

works() { echo 'int main(void) { return 0; }' | $cc -x c -o /dev/null - >/dev/null 2>&1; }

works && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq </dev/null >&2
	apt-get install -y -qq --no-install-recommends gcc libc6-dev </dev/null >&2
fi
works || {
	echo "c compiler: $cc does not work and the race detector needs it" >&2
	echo "c compiler: hint: apt-get install gcc libc6-dev, or xcode-select --install" >&2
	exit 1
}
