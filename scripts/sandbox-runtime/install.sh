#!/bin/sh
# Installs the pinned sandbox runtime into the folder given and prints the folder
# of its program, and nothing else, on stdout. A second run that finds the same
# lock file installed does nothing, so it needs no network.
#
# Install scripts stay off, as with the agent CLI. On Linux the runtime needs
# bubblewrap, socat and ripgrep too, and says so when they are missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
into=${1:?usage: install.sh FOLDER}
mkdir -p "$into"
into=$(cd "$into" && pwd)
program=$into/node_modules/.bin/srt

if ! cmp -s "$here/package-lock.json" "$into/installed.json" || ! "$program" --version >/dev/null 2>&1; then
	command -v npm >/dev/null || {
		echo "sandbox runtime: npm is missing; install Node.js 22 or newer" >&2
		exit 1
	}
	cp "$here/package.json" "$here/package-lock.json" "$into/"
	(cd "$into" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
	cp "$here/package-lock.json" "$into/installed.json"
fi
if [ "$(uname -s)" = Linux ]; then
	for need in bwrap socat rg; do
		command -v "$need" >/dev/null || {
			echo "sandbox runtime: $need is not on the PATH" >&2
			echo "sandbox runtime: hint: apt-get install bubblewrap socat ripgrep" >&2
			exit 1
		}
	done
fi
"$program" --version >/dev/null
printf '%s\n' "$into/node_modules/.bin"
