package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"loopd/internal/setup"
	"loopd/report"
)

// print shows a survey and what was written, within the width.
func (s initDone) print(out io.Writer) error {
	var b bytes.Buffer
	p := s.Plugin
	fmt.Fprintln(&b, strings.TrimSpace("Plugin "+p.Name+" "+p.Version))
	skillTable(&b, p.Skills)
	fmt.Fprintln(&b)
	fmt.Fprint(&b, hung("hook      ", p.Hook.Kind()))
	for _, row := range []struct {
		head  string
		names []string
	}{{"commands  ", p.Commands}, {"agents    ", p.Agents}, {"programs  ", p.Programs}} {
		if len(row.names) > 0 {
			fmt.Fprint(&b, hung(row.head, strings.Join(row.names, ", ")))
		}
	}
	warnings(&b, "To mend first, or no session counts:", p.Warnings, true)
	warnings(&b, "Worth mending:", p.Warnings, false)
	if len(p.Warnings) == 0 {
		fmt.Fprint(&b, "\nNothing that will get in the way.\n")
	}
	fmt.Fprintln(&b)
	for _, name := range s.Wrote {
		fmt.Fprintln(&b, "wrote "+name)
	}
	for _, name := range s.Kept {
		fmt.Fprintln(&b, "left "+name+" as it was")
	}
	fmt.Fprintln(&b)
	if s.More != "" {
		fmt.Fprint(&b, hung("", s.More))
		fmt.Fprintln(&b)
	}
	if s.Set != "" {
		fmt.Fprint(&b, hung("Next: ", s.Next))
	} else {
		fmt.Fprintln(&b, "Next: "+s.Next) // whole, to be copied
	}
	_, err := out.Write(b.Bytes())
	return err
}

// warnings prints those that block, or the others.
func warnings(out io.Writer, head string, all []setup.Warning, block bool) {
	for _, w := range all {
		if w.Blocks != block {
			continue
		}
		if head != "" {
			fmt.Fprintf(out, "\n%s\n", head)
			head = ""
		}
		fmt.Fprint(out, hung("- ", w.String()))
	}
}

// skillTable lists the skills with the lengths of what is listed of them.
func skillTable(out io.Writer, skills []setup.Skill) {
	if len(skills) == 0 {
		fmt.Fprint(out, "\nno skills\n")
		return
	}
	fmt.Fprintln(out)
	w := report.NewTableWriter(out, width)
	fmt.Fprintf(w, "skill\tdescription\twhen_to_use\toffered\twording may change\n")
	for _, s := range skills {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", s.Name, s.Description, s.WhenToUse, yesNo(s.Offered), yesNo(s.Surface))
	}
	w.Flush() // a buffer takes everything
}
