package report

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"

	"loopd/loop"
)

//go:embed campaign.md.tmpl candidate.md.tmpl shared.md.tmpl judged.md.tmpl digest.md.tmpl nothing.md.tmpl
var templates embed.FS

// Markdown renders the campaign report for people.
func (c Campaign) Markdown() []byte {
	if c.nothing() {
		return render("nothing.md.tmpl", c)
	}
	return render("campaign.md.tmpl", c)
}

// Markdown renders the candidate report for people.
func (c Candidate) Markdown() []byte { return render("candidate.md.tmpl", c) }

// render executes a template of this package over one of its own types, so a
// failure is a mistake in the template and shows in every test.
func render(name string, data any) []byte {
	t := template.Must(template.New(name).Funcs(template.FuncMap{
		"rate": rateText, "e": evidence, "short": short, "usd": usd, "cell": tableCell, "when": when,
		"fence": fence, "verdict": verdictText, "sessions": plural, "branch": branch, "targets": targetsText, "leaf": leaf, "wrap": wrap, "item": item,
		"because": because, "effect": (*Effect).String, "aa": aaText, "gateCells": gateCells,
		"windows": windowsText, "lookAt": lookAt,
		"stage": stageText, "reasons": reasonsText, "byCell": byCell, "contrast": contrastText, "leak": leakText,
		"judge": judgeText,
	}).ParseFS(templates, name, "shared.md.tmpl", "judged.md.tmpl"))
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		panic(fmt.Sprintf("render %s: %v", name, err))
	}
	return b.Bytes()
}

// rateText prints k/n with its interval.
func rateText(r Rate) string {
	if r.N == 0 {
		return "not run"
	}
	return fmt.Sprintf("%d/%d [%.2f, %.2f]", r.K, r.N, r.CI.Low, r.CI.High)
}

func evidence(v *float64) string {
	if v == nil {
		return "none"
	}
	return number(*v)
}

func usd(c Cost) string {
	text := fmt.Sprintf("%.4f USD", c.USD)
	switch c.PaidWith {
	case loop.PaidByKey:
	case loop.Subscription:
		text += " at list price, not billed"
	default:
		text += " at list price"
	}
	if c.Unreported > 0 {
		text += ", not reported by " + plural(c.Unreported)
	}
	return text
}

// tableCell keeps free text inside one cell of a Markdown table.
func tableCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(printable(text))
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

func verdictText(s Summary) string {
	switch {
	case s.Withdrawn:
		return string(s.Verdict) + ", withdrawn"
	case s.Verdict == "":
		return "no verdict yet"
	case s.Reason != "":
		return fmt.Sprintf("%s (%s)", s.Verdict, s.Reason)
	default:
		return string(s.Verdict)
	}
}

func plural(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}

// branch is how git names a reference of ours on its command line.
func branch(ref string) string {
	if ref == "" {
		return "none"
	}
	return "`" + strings.TrimPrefix(ref, "refs/heads/") + "`"
}

// targetsText says which cells a candidate is weighed on and who said so.
func targetsText(c Candidate) string {
	how := "declared"
	if c.TargetsFrom != "" {
		how = "derived from " + c.TargetsFrom
	}
	return fmt.Sprintf("Weighed on %s (%s).", names(c.Targets), how)
}

// leaf is a branch of ours without the campaign it is filed under.
func leaf(ref string) string {
	if ref == "" {
		return "none"
	}
	return "`" + path.Base(ref) + "`"
}

// simulatedText stands wherever numbers of a simulated campaign do.
const simulatedText = "Simulated: the model behind these numbers is a program."

// brief abbreviates a digest where seven sit in a row.
func brief(digest string) string { return digest[:min(len(digest), 8)] }

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// table makes rows of cells below a heading.
func table[T any](head []string, list []T, row func(T) []string) [][]string {
	rows := [][]string{head}
	for _, one := range list {
		rows = append(rows, row(one))
	}
	return rows
}

// markdownTable writes rows below a heading, which is ours; cell makes a text
// stay within its cell.
func markdownTable(rows [][]string, cell func(string) string) string {
	var b strings.Builder
	for i, row := range rows {
		cells := slices.Clone(row)
		for k := range cells {
			if i > 0 {
				cells[k] = cell(cells[k])
			}
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return b.String()
}

// lineWidth is the width prose is wrapped at.
const lineWidth = 78

// wrap breaks prose into lines that are read on a terminal too.
func wrap(text string) string { return Wrap(strings.TrimSpace(text), "", lineWidth) }

// item is prose behind "- ", hung in.
func item(text string) string {
	return strings.TrimLeft(Wrap("  "+strings.TrimSpace(text), "  ", lineWidth), " ")
}

// because appends a reason where there is one.
func because(why string) string {
	if why = strings.Join(strings.Fields(printable(why)), " "); why == "" {
		return ""
	}
	return ": " + why
}

func names(list []string) string { return strings.Join(list, ", ") }

// gateCells names the cells the gate rests on, all of them in two words.
func gateCells(g *Gate) string {
	var own []string
	for _, c := range g.Cells {
		if c.Target {
			own = append(own, c.Name)
		}
	}
	if len(own) == len(g.Cells) {
		return "all cells"
	}
	return names(own)
}
