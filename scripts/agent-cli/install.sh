#!/bin/sh
# Installs the pinned agent CLI into the folder given and prints the path of its
# program, and nothing else, on stdout. A second run that finds the same lock
# file installed does nothing, so it needs no network.
#
# Install scripts stay off: the platform's own package holds the program, which
# is all that is needed, and nothing downloaded is run before its digest in
# package-lock.json has been compared.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
into=${1:?usage: install.sh FOLDER}
mkdir -p "$into"
into=$(cd "$into" && pwd)

program() {
	for found in "$into"/node_modules/@anthropic-ai/claude-code-*/claude; do
		if [ -x "$found" ] && "$found" --version >/dev/null 2>&1; then
			printf '%s\n' "$found"
			return 0
		fi
	done
	return 1
}

if ! cmp -s "$here/package-lock.json" "$into/installed.json" || ! program >/dev/null; then
	command -v npm >/dev/null || {
		echo "agent CLI: npm is missing; install Node.js 22 or newer" >&2
		exit 1
	}
	cp "$here/package.json" "$here/package-lock.json" "$into/"
	(cd "$into" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
	cp "$here/package-lock.json" "$into/installed.json"
fi

program || {
	echo "agent CLI: no program for this platform below $into" >&2
	exit 1
}
