package columns

import "strings"

// Markdown lays Markdown out for a page: a table becomes aligned columns, and a
// paragraph or item that is too wide is broken anew. What stands in a fence is
// kept as it is, to be copied. It reads no more of the language than the reports
// use. What would move the terminal is taken out, as in a table.
func Markdown(text string, width int) string {
	var b strings.Builder
	var rows [][]string
	fence := ""
	flush := func() {
		if len(rows) > 1 && strings.Join(rows[0], "") == "" {
			rows = rows[1:] // a table that needs no head has an empty one
		}
		b.WriteString(Table(rows, width))
		rows = nil
	}
	for line := range strings.Lines(text) {
		line = Plain(strings.TrimSuffix(line, "\n"))
		if fence == "" && strings.HasPrefix(line, "|") {
			if len(rows) != 1 || !rule(line) {
				rows = append(rows, cellsOf(line))
			}
			continue
		}
		flush()
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
		case strings.HasPrefix(line, "```"):
			fence = line[:len(line)-len(strings.TrimLeft(line, "`"))]
		case Width(line) > min(width, Prose):
			line = Wrap(line, hanging(line), min(width, Prose))
		}
		b.WriteString(line + "\n")
	}
	flush()
	return b.String()
}

// rule says whether a line of a table is the one below its head.
func rule(line string) bool { return strings.Trim(line, "|-: ") == "" && strings.Contains(line, "-") }

// cellsOf reads a row of a table. A bar that is escaped belongs to its cell.
func cellsOf(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.Trim(line, " "), `\|`, bar)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	cells := strings.Split(line, "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(strings.NewReplacer(bar, "|", "&lt;", "<", "`", "").Replace(cell))
	}
	return cells
}

// hanging is the indent below an item or a quotation.
func hanging(line string) string {
	begin := line[:len(line)-len(strings.TrimLeft(line, " "))]
	switch rest := line[len(begin):]; {
	case strings.HasPrefix(rest, "- "):
		return begin + "  "
	case strings.HasPrefix(rest, "> "):
		return begin + "> "
	}
	return begin
}
