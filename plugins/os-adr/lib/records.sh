# Shared by the adr programs: sourced by them, never run. The caller sets
# `program` to its own name first; error lines carry it.
#
# Nothing is changed in place. A program that writes opens a stage (a directory
# beside the records, which is also the lock), makes every new file there, and
# only then renames them into place, so a refused or broken run leaves the
# records as they were.

LC_ALL=C
export LC_ALL

records=docs/adr
stage=$records/.stage
newline='
'

die() {
	printf '%s: %s\n' "$program" "$1" >&2
	exit 2
}

# enter_project goes to the nearest directory upwards that holds docs/adr, so
# that the programs work anywhere in a project and print paths from its root.
enter_project() {
	while [ ! -d "$records" ]; do
		if [ "$PWD" = / ] || [ -e .git ]; then
			die "this project has no $records: run adr-init first"
		fi
		cd .. || die "cannot look for $records above $PWD"
	done
}

# record_id prints $1 as a four-digit id, or fails. Zeros are handled as text,
# since some awks read 0042 as octal.
record_id() {
	case $1 in
	'' | *[!0-9]* | ?????*) return 1 ;;
	esac
	padded=000$1
	while [ ${#padded} -gt 4 ]; do padded=${padded#0}; done
	printf "%s\n" "$padded"
}

# record_path prints the file of record $1 in directory $2, or fails.
record_path() {
	for file in "$2/$1"-*.md; do
		if [ -f "$file" ]; then
			printf '%s\n' "$file"
			return 0
		fi
	done
	return 1
}

# The part of every awk program below that reads a record: front matter into
# value[key], the list of affected paths into paths, all other lines to text().
# The program that follows defines text(line) and record(file), which is called
# at the end of each record.
read_records='
function plain(s,    out, i, c) {
	sub(/^[ \t]+/, "", s)
	sub(/[ \t\r]+$/, "", s)
	if (s ~ /^\047.*\047$/) return substr(s, 2, length(s) - 2)
	if (s !~ /^".*"$/) return s
	out = ""
	for (i = 2; i < length(s); i++) {
		c = substr(s, i, 1)
		if (c == "\\") c = substr(s, ++i, 1)
		out = out c
	}
	return out
}
function show_status() {
	if (value["superseded-by"] != "") return value["status"] " by " value["superseded-by"]
	return value["status"]
}
function one_line(s) {
	gsub(/[\t\r]/, " ", s)
	return s
}
function finish() {
	if (file != "") record(file)
	split("", value)
	paths = ""
}
FNR == 1 {
	finish()
	file = FILENAME
	front = ($0 ~ /^---[ \t\r]*$/)
	if (front) next
}
front && /^---[ \t\r]*$/ { front = 0; next }
front && /^[ \t]*-[ \t]/ {
	line = $0
	sub(/^[ \t]*-/, "", line)
	paths = paths plain(line) "\n"
	next
}
front {
	at = index($0, ":")
	if (at > 1) value[substr($0, 1, at - 1)] = plain(substr($0, at + 1))
	next
}
{ text($0) }
END { finish() }
'

# each_record runs the awk program $1 over the records in directory $2.
each_record() {
	set -- "$1" "$2"/[0-9][0-9][0-9][0-9]-*.md
	[ -f "$2" ] || return 0
	program_text=$1
	shift
	awk "$read_records$program_text" "$@"
}

# open_stage takes the lock and copies the records to work on.
open_stage() {
	mkdir "$stage" 2>/dev/null ||
		die "cannot make $stage: another adr program is writing, or one was killed (then remove it)"
	trap 'rm -rf "$stage"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' HUP TERM
	for file in "$records"/[0-9][0-9][0-9][0-9]-*.md; do
		[ -f "$file" ] || continue
		cp "$file" "$stage/" || die "cannot copy $file"
	done
}

# stage_index writes the index as it will be into the stage: the rows between
# the two marker lines are made anew, the words around them stay.
stage_index() {
	if [ -f "$records/README.md" ]; then
		cp "$records/README.md" "$stage/index.old" || die "cannot copy $records/README.md"
	else
		cat >"$stage/index.old" <<'INDEX'
# Decision records

One file per decision. The rows below are written by adr-init and adr-new.

| Id | Title | Status | Date |
|---|---|---|---|
<!-- records -->
<!-- end of records -->
INDEX
	fi
	each_record '
function text(line) {}
function record(file,    name, title, n, part, i) {
	name = file
	sub(/.*\//, "", name)
	n = split(one_line(value["title"]), part, "|")
	title = part[1]
	for (i = 2; i <= n; i++) title = title "\\|" part[i]
	print "| [" value["id"] "](" name ") | " title " | " show_status() " | " value["date"] " |"
}' "$stage" >"$stage/index.rows" || die "cannot read the records"
	awk -v rows="$stage/index.rows" '
/^<!-- records -->/ && !seen {
	print
	while ((getline row < rows) > 0) print row
	seen = 1
	skip = 1
	next
}
/^<!-- end of records -->/ { skip = 0; ended = seen }
!skip { print }
END { exit !ended }
' "$stage/index.old" >"$stage/README.md" ||
		die "$records/README.md lacks the lines <!-- records --> and <!-- end of records -->"
}

# publish renames the named files of the stage into place.
publish() {
	for piece in "$@"; do
		mv -f "$stage/$piece" "$records/$piece" || die "cannot write $records/$piece"
	done
}
