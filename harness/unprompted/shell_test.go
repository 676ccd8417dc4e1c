package unprompted

import (
	"strings"
	"testing"

	"loopd/internal/testenv"
)

// reading is a command line and what is read out of it: the programs, after >
// the paths, after @ the working directory where it is another.
type reading struct{ command, want string }

func (r reading) hold(t *testing.T) {
	t.Helper()
	got := readShell(r.command, project, project)
	out := strings.Join(got.programs, " ")
	if len(got.paths) > 0 {
		out += " > " + strings.Join(got.paths, " ")
	}
	if rel, _ := below(project, "", got.cwd); rel != "." {
		out += " @ " + rel
	}
	if out != r.want {
		t.Errorf("%s: got %q, want %q", r.command, out, r.want)
	}
}

// Each of these command lines is the only one that tells some rule from its
// absence.
func TestReadings(t *testing.T) {
	for _, row := range testenv.Table(t, "testdata/readings.txt") {
		reading{row[0], row[1]}.hold(t)
	}
	for _, r := range []reading{
		{strings.Repeat("nohup ", maxDepth-2) + "adr-list", `adr-list`},
		{strings.Repeat("nohup ", maxDepth) + "adr-list", ``},
		{"cat <<docs/adr\nx\ndocs/adr", `cat`},
		{"cat <<X\n$(echo $(adr-find))\nX", `adr-find echo cat`},
		{"cat docs/adr/x\n((", ``},
		{"cat \"docs/a\\\ndr\"", `cat > docs/adr`},
		{"cat docs/a\\\ndr", `cat > docs/adr`},
		{"bash -s x <<'X'\nadr-list\nX", `bash adr-list`},
		{"bash bin/adr-find <<'X'\nadr-list\nX", `bash adr-find`},
		{"bash -c <<'X'\nadr-list\nX", `bash`},
		{"'adr-find\tx'", ``},
		{"'adr-find\nx'", ``},
	} {
		r.hold(t)
	}
}

func TestBracesAreBounded(t *testing.T) {
	for command, want := range map[string]int{"cat x{1..60}": 60, "cat x{1..70}": maxBraces, "cat {a,b}{1..40}": maxBraces} {
		if got := len(readShell(command, project, project).paths); got != want {
			t.Errorf("%s: got %d paths, want %d", command, got, want)
		}
	}
}

func TestReadersReadTheirOperands(t *testing.T) {
	const all = `cat tac head tail less more bat batcat nl ls dir tree stat file wc sort uniq cut paste diff cmp comm od xxd hexdump strings
		sed awk gawk mawk jq yq tee cp mv rm mkdir touch ln install vi vim nano ed rsync du realpath readlink md5sum sha256sum column fold fmt
		glow pandoc`
	for _, name := range strings.Fields(all) {
		reading{name + " docs/adr", name + " > docs/adr"}.hold(t)
	}
	reading{"made-up docs/adr", "made-up"}.hold(t)
}
