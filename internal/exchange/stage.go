package exchange

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"loopd/harness"
)

// project writes a script that lays the scenario's project into the folder a
// session starts in; a case has no other way to bring files along. The script
// runs only where whoever runs the cases asks for it.
func (w *writing) project(suite harness.Suite, sc harness.Scenario) error {
	tree, ok := suite.Fixtures[sc.Fixture]
	if !ok {
		return fmt.Errorf("no fixture %s", sc.Fixture)
	}
	tree, err := tree.With(sc.Changes)
	if err != nil {
		return err
	}
	if len(sc.Changes) > 0 {
		w.leave("changes: made in stage.sh already, and not read back from it")
	}
	if sc.Graph {
		w.leave("graph: the project comes without its code graph")
	}
	w.files["stage.sh"] = harness.File{Mode: 0o755, Data: []byte(stageScript(tree))}
	w.files["case.yaml"] = textFile("schema_version: " + quoteJSON(caseVersion) + "\nname: " + quoteJSON(sc.ID) +
		"\n# Lays the project out; runs with --scaffold only.\ncontext:\n  scaffold_script: stage.sh\n")
	return nil
}

// stageScript writes every file of a tree in base64, so that neither the shell
// nor an editor changes a byte.
func stageScript(tree harness.Tree) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# Lays out the project of this case in the folder it is started in.\nset -eu\n")
	for _, p := range tree.Paths() {
		if dir := path.Dir(p); dir != "." {
			fmt.Fprintf(&b, "mkdir -p %s\n", shellQuote(dir))
		}
		fmt.Fprintf(&b, "base64 -d >%s <<'EOF'\n", shellQuote(p))
		text := base64.StdEncoding.EncodeToString(tree[p].Data)
		for len(text) > 76 {
			b.WriteString(text[:76] + "\n")
			text = text[76:]
		}
		if text != "" {
			b.WriteString(text + "\n")
		}
		b.WriteString("EOF\n")
		if tree[p].Mode&0o111 != 0 {
			fmt.Fprintf(&b, "chmod +x %s\n", shellQuote(p))
		}
	}
	return b.String()
}

// shellQuote writes a path as one word that no program takes for an option.
func shellQuote(p string) string { return "'./" + strings.ReplaceAll(p, "'", `'\''`) + "'" }

// exportReadme says how the cases are run and what each does not check.
func exportReadme(suite harness.Suite, cases []Exported) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Cases of the suite for %s\n\n", suite.Checker.Plugin)
	b.WriteString(`Each folder is a scenario written as a case of "claude plugin eval". The cases
hold the tasks, which are held out from whoever writes wording: keep this folder
out of the plugin's repository, and put it into a copy of the plugin to run it.

    claude plugin eval COPY --eval-dir evals --scaffold --allow-tools Bash Write Edit

- Without --scaffold a session starts in an empty folder.
- A run that broke is graded like any other there: read its error first.
- The name of a skill is matched as it was called, with the plugin before it.
- Patterns look at the last message only; here they look at all that is said.
- With a plugin resolved, graders of the Skill tool are shown beside the score
  and are no part of it, but for those that want no call.

## What a case does not check

`)
	always := common(cases)
	if len(always) > 0 {
		b.WriteString("Of every case:\n\n")
	}
	for _, l := range always {
		fmt.Fprintf(&b, "- %s\n", l)
	}
	for _, c := range cases {
		own := slices.DeleteFunc(slices.Clone(c.Left), func(l string) bool { return slices.Contains(always, l) })
		if len(own) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n", c.ID)
		for _, l := range own {
			fmt.Fprintf(&b, "- %s\n", l)
		}
	}
	return b.String()
}

// common lists what is left out of every case, in the order of the first.
func common(cases []Exported) []string {
	if len(cases) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(cases[0].Left), func(l string) bool {
		return slices.ContainsFunc(cases, func(c Exported) bool { return !slices.Contains(c.Left, l) })
	})
}
