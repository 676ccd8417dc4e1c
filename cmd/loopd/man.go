package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"loopd/internal/atomicfile"
	"loopd/internal/hint"
)

func newMan(e env) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "write the manual pages, one a command", Args: oneArg("directory"),
		Long: "  loopd man /usr/local/share/man/man1\n\nWrites a manual page of section 1 for every command into an existing directory,\nover those of an older loopd.",
		RunE: func(cmd *cobra.Command, args []string) error { return runMan(e, cmd.Root(), args[0]) },
	}
}

// quoteExamples makes examples of the indented lines of every help, which a manual
// page would else fill as a paragraph.
func quoteExamples(cmd *cobra.Command) {
	lines := slices.Collect(strings.Lines(cmd.Long))
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line // as many as Markdown wants
		}
	}
	cmd.Long = strings.Join(lines, "")
	for _, c := range cmd.Commands() {
		quoteExamples(c)
	}
}

// runMan writes the pages elsewhere first, so that a page is whole or absent.
func runMan(e env, root *cobra.Command, dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return hint.Usagef("mkdir -p "+dir, "write manual pages: %s is no directory", dir)
	}
	if err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	room, err := os.MkdirTemp("", "")
	if err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	defer os.RemoveAll(room)
	root.DisableAutoGenTag = true // its date would make every build another
	quoteExamples(root)
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "loopd " + version, Manual: "loopd"}, room); err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	pages, err := filepath.Glob(filepath.Join(room, "*.1"))
	if err != nil || len(pages) == 0 {
		return fmt.Errorf("write manual pages: none came of it: %w", err)
	}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			return fmt.Errorf("write manual pages: %w", err)
		}
		if err := atomicfile.WriteFile(filepath.Join(dir, filepath.Base(page)), data, 0o644); err != nil {
			return fmt.Errorf("write manual pages: %w", err)
		}
	}
	_, err = fmt.Fprintf(e.stdout, "wrote %d manual pages to %s\n\nNext: man loopd\n", len(pages), dir)
	return err
}
