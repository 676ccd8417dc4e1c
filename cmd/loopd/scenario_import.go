package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/config"
	"loopd/internal/exchange"
	"loopd/internal/hint"
)

const scenarioImportHelp = `  loopd scenario import ../my-plugin
  loopd scenario import evals/evals.json --into loopd-suite
  loopd scenario import trigger-eval.json --skill find-decision

Reads suites written for other programs into draft scenarios: cases of
"claude plugin eval", evals.json, trigger query sets and promptfoo
configurations. What a file is, is told by its content. Nothing of a suite is
ever run, and nothing that exists is overwritten.

Each draft says under its key draft where it comes from, what to look at, and
every field that was not carried. A suite with a draft in it is not sealed: give
the draft what it lacks, take the key out, and it is a scenario.`

type importOptions struct {
	skill, into string
	asJSON      bool
}

func newScenarioImport(e env) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use: "import PATH", Short: "make draft scenarios of another program's suite", Long: scenarioImportHelp,
		Args: oneArg("file or folder"),
		RunE: func(_ *cobra.Command, args []string) error { return runScenarioImport(e, args[0], o) },
	}
	flagSkill(cmd, &o.skill, "the skill the suite is about, where it does not say")
	cmd.Flags().StringVar(&o.into, "into", "", "the suite to write to; the one of loopd.yaml otherwise")
	flagJSON(cmd, &o.asJSON)
	return cmd
}

const importHint = "loopd scenario import --help"

func runScenarioImport(e env, name string, o importOptions) error {
	if _, err := os.Stat(e.Path(name)); err != nil {
		return hint.New(hint.Usage, fmt.Errorf("import %s: no such file or folder", name), importHint)
	}
	into, err := importInto(e, name, o.into)
	if err != nil {
		return err
	}
	found, err := exchange.Import(e.Path(name), exchange.Options{Skill: o.skill})
	if _, noSkill := errors.AsType[*exchange.NoSkillError](err); noSkill {
		return hint.New(hint.Usage, err, "loopd scenario import "+quoted(name)+" --skill SKILL")
	}
	if err != nil {
		return hint.New(hint.Usage, err, importHint)
	}
	files, err := found.Write(e.Path(into))
	if err != nil {
		return hint.New(hint.Usage, fmt.Errorf("import %s: %w", name, err), intoHint(name))
	}
	if o.asJSON {
		return printJSON(e.stdout, importDocument(found, into, files))
	}
	own := false
	if l, err := loadConfig(e); err == nil {
		own = l.Config.Suite == filepath.Clean(e.Path(into))
	}
	into = shownPath(e.Dir, e.Path(into))
	return printImport(e.stdout, found, into, own)
}

// intoHint is the command that imports into a folder of its own.
func intoHint(name string) string {
	return "loopd scenario import " + quoted(name) + " --into drafts"
}

// importInto is the suite drafts are written to.
func importInto(e env, name, into string) (string, error) {
	if into != "" {
		return into, nil
	}
	l, err := loadConfig(e)
	if err != nil {
		return "", hint.Usagef(intoHint(name), "import scenarios: no loopd.yaml here that names a suite")
	}
	if l.Config.Suite == config.Bundled {
		return "", hint.Usagef(intoHint(name), "import scenarios: the bundled suite takes none in: name a folder")
	}
	if _, err := frozen.ReadManifest(l.Config.Suite); err == nil {
		return "", hint.Usagef(intoHint(name), "import scenarios: %s is sealed, and a draft in it would be drift: name another folder", l.Config.Suite)
	}
	return l.Config.Suite, nil
}

// importedDraft is what is said of a draft: places and names, no text of it.
type importedDraft struct {
	ID       string   `json:"id"`
	File     string   `json:"file"`
	Role     string   `json:"role"`
	Skill    string   `json:"skill,omitempty"`
	Fixture  string   `json:"fixture,omitempty"`
	Format   string   `json:"format"`
	Source   string   `json:"source"`
	Pointer  string   `json:"pointer,omitempty"`
	SHA256   string   `json:"sha256"`
	Flags    []string `json:"flags"`
	Unmapped []string `json:"unmapped"`
}

type importedSkip struct {
	Where string `json:"where"`
	Why   string `json:"why"`
}

type importedDocument struct {
	Into    string          `json:"into"`
	Drafts  []importedDraft `json:"drafts"`
	Flagged int             `json:"flagged"`
	Skipped []importedSkip  `json:"skipped"`
}

func importDocument(found exchange.Found, into string, files []string) importedDocument {
	doc := importedDocument{Into: into, Drafts: []importedDraft{}, Skipped: []importedSkip{}}
	for i, d := range found.Drafts {
		sc := d.Scenario
		o := sc.Draft.Origin
		doc.Drafts = append(doc.Drafts, importedDraft{
			ID: sc.ID, File: files[i], Role: string(sc.Role), Skill: sc.Skill, Fixture: sc.Fixture,
			Format: o.Format, Source: o.File, Pointer: o.Pointer, SHA256: o.SHA256,
			Flags: append([]string{}, sc.Draft.Flags...), Unmapped: append([]string{}, unmappedNames(sc.Draft)...),
		})
		if len(sc.Draft.Flags) > 0 {
			doc.Flagged++
		}
	}
	for _, s := range found.Skipped {
		doc.Skipped = append(doc.Skipped, importedSkip{s.Where, s.Why})
	}
	return doc
}

// indexes are the numbers in the place of a field: grader 3 and grader 4 lack
// the same thing.
var indexes = regexp.MustCompile(`\[\d+\]`)

// unmappedNames lists the fields that were not carried, each name once.
func unmappedNames(d *harness.Draft) []string {
	names := make(map[string]bool)
	for _, f := range d.Unmapped {
		names[indexes.ReplaceAllString(f.Field, "[]")] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// printImport says what was made; own is whether into is the suite of the
// settings, which is the one that the lint looks at.
func printImport(w io.Writer, found exchange.Found, into string, own bool) error {
	var b strings.Builder
	flagged, fields := 0, make(map[string]int)
	seen := make(map[string][]string) // drafts by flag
	var order []string
	longest := 0
	for _, d := range found.Drafts {
		longest = max(longest, len(d.Scenario.ID))
	}
	for _, s := range found.Suites {
		fmt.Fprintf(&b, "%s: %s, %s\n", s.File, s.Format, counted(s.Cases, "draft"))
	}
	b.WriteString("\n")
	for _, d := range found.Drafts {
		sc := d.Scenario
		fmt.Fprintf(&b, "  %-*s  %-9s  flags %d  unmapped %d\n", min(longest, width-36), sc.ID, sc.Role, len(sc.Draft.Flags), len(sc.Draft.Unmapped))
		if len(sc.Draft.Flags) > 0 {
			flagged++
		}
		for _, f := range sc.Draft.Flags {
			if seen[f] == nil {
				order = append(order, f)
			}
			seen[f] = append(seen[f], sc.ID)
		}
		for _, f := range unmappedNames(sc.Draft) {
			fields[f]++
		}
	}
	fmt.Fprintf(&b, "\n%s in %s, %d flagged, %s unmapped\n", counted(len(found.Drafts), "draft"), filepath.Join(into, "scenarios"), flagged, counted(len(fields), "field"))
	if len(order) > 0 {
		b.WriteString("\nflags:\n")
	}
	for _, f := range order {
		b.WriteString(wrap("  "+f+" ("+few(seen[f])+")", "    "))
	}
	if len(fields) > 0 {
		b.WriteString("\nunmapped:\n" + wrap("  "+strings.Join(slices.Sorted(maps.Keys(fields)), ", "), "  "))
	}
	if len(found.Skipped) > 0 {
		b.WriteString("\nleft out:\n")
	}
	for _, s := range found.Skipped {
		b.WriteString(wrap("  "+s.String(), "    "))
	}
	b.WriteString("\nGive each draft what it lacks and take its key draft out; until then the suite\nis not sealed.\n")
	if own {
		b.WriteString("\nNext: loopd scenario lint\n")
	} else {
		b.WriteString("Then move it to the scenarios of your suite, where loopd scenario lint\nlooks at it.\n\nNext: $EDITOR " + quoted(filepath.Join(into, "scenarios", found.Drafts[0].Scenario.ID+".md")) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// few names the first of a list.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
