#!/bin/sh
# Makes sure that there are strace, which makes a sync fail, and mkfs.ext4, for a
# disk that loses its power. Only root on Linux with apt gets them installed; for
# anyone else the tests that need them are skipped, for they need root anyway.
# With --usable it prints, with a comma before each, what can be used here: strace
# where it may follow a program, loop where a file can be mounted.
set -eu

[ "$(uname -s)" = Linux ] || exit 0

if [ "${1:-}" != --usable ]; then
	command -v strace >/dev/null && command -v mkfs.ext4 >/dev/null && exit 0
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq </dev/null >&2
		apt-get install -y -qq --no-install-recommends strace e2fsprogs </dev/null >&2
	fi
	exit 0
fi

if strace -qq -o /dev/null true 2>/dev/null; then
	printf ',strace'
fi

[ "$(id -u)" = 0 ] || exit 0
work=$(mktemp -d)
trap 'umount "$work/at" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/at"
truncate -s 8M "$work/disk"
if mkfs.ext4 -q -F "$work/disk" 2>/dev/null && mount -o loop "$work/disk" "$work/at" 2>/dev/null; then
	printf ',loop'
fi
