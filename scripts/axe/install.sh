#!/bin/sh
# Installs the pinned axe-core into the folder given and prints the path of its
# script, and nothing else, on stdout. A second run that finds the same lock file
# installed does nothing, so it needs no network. It is used by tests alone and
# is no part of loopd.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
into=${1:?usage: install.sh FOLDER}
mkdir -p "$into"
into=$(cd "$into" && pwd)
script=$into/node_modules/axe-core/axe.min.js

if ! cmp -s "$here/package-lock.json" "$into/installed.json" || ! [ -f "$script" ]; then
	command -v npm >/dev/null || {
		echo "axe: npm is missing; install Node.js 22 or newer" >&2
		exit 1
	}
	cp "$here/package.json" "$here/package-lock.json" "$into/"
	(cd "$into" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
	cp "$here/package-lock.json" "$into/installed.json"
fi

[ -f "$script" ] || {
	echo "axe: no script below $into" >&2
	exit 1
}
printf '%s\n' "$script"
