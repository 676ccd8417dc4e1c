package exchange

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"loopd/harness"
)

// folder looks for suites in a folder and below: cases by their files, the rest
// by the content of whatever may be read.
func (im *importer) folder(dir string) error {
	var cases, files []string
	count := 0
	err := fs.WalkDir(im.fsys, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if count++; count > maxFiles {
			return fmt.Errorf("more than %d files: name the suite's own folder", maxFiles)
		}
		switch {
		case d.IsDir() && skipFolder(d.Name()):
			return fs.SkipDir
		case d.IsDir() && im.isCase(p):
			cases = append(cases, p)
			return fs.SkipDir
		case d.IsDir() && im.isHarbor(p):
			im.skip(p, "%s", unsupported(Harbor))
			return fs.SkipDir
		case d.Type().IsRegular() && slices.Contains([]string{".json", ".jsonl", ".yaml", ".yml"}, path.Ext(p)):
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(cases) > 0 {
		if err := im.native(cases); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := im.recognised(f, false); err != nil {
			return err
		}
	}
	return nil
}

// skipFolder names folders that hold no suite: results of runs, stand-ins of
// servers, other people's code.
func skipFolder(name string) bool {
	return slices.Contains([]string{"results", "mocks", ".git", "node_modules"}, name)
}

// single reads one file that was named.
func (im *importer) single(name string) error {
	dir := path.Dir(name)
	base := path.Base(name)
	switch {
	case (base == "prompt.md" || base == "case.yaml") && im.isCase(dir):
		return im.native([]string{dir})
	case im.isHarbor(dir) && (base == "task.toml" || base == "instruction.md"):
		im.skip(name, "%s", unsupported(Harbor))
		return nil
	case slices.Contains([]string{".js", ".mjs", ".cjs", ".ts", ".py"}, path.Ext(name)):
		return fmt.Errorf("%s: code, and nothing of a suite is ever run", name)
	}
	return im.recognised(name, true)
}

// unsupported is the sentence about a format that is known and not read.
func unsupported(f Format) string {
	switch f {
	case ResultFile:
		return "is a result file, not a suite"
	case Waza, CapEvolve, Harbor:
		return fmt.Sprintf("is a %s suite: not yet supported", f)
	}
	return fmt.Sprintf("is an %s suite: not yet supported", f)
}

// recognised reads a file by what is in it. A file that was not named itself
// and is no suite is passed over.
func (im *importer) recognised(name string, named bool) error {
	data, err := im.read(name)
	if err != nil {
		return err
	}
	doc, err := parseFile(name, data)
	if err != nil {
		if named {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	format, ok := im.detect(doc, path.Dir(name))
	switch {
	case !ok && named:
		return fmt.Errorf("%s: no suite of a known format", name)
	case !ok:
		return nil
	case !slices.Contains(supported, format):
		im.skip(name, "%s", unsupported(format))
		return nil
	}
	f := suiteFile{name: name, doc: doc, sum: digest(data)}
	switch format {
	case TriggerSet:
		return im.triggers(f)
	case EvalsJSON:
		return im.evals(f)
	case Promptfoo:
		return im.promptfoo(f)
	}
	return fmt.Errorf("%s: a case of claude plugin eval: name its folder", name)
}

// suiteFile is a suite that is one file.
type suiteFile struct {
	name string
	doc  *node
	sum  string
}

func (f suiteFile) origin(format Format, pointer string) harness.Origin {
	return harness.Origin{Format: string(format), File: f.name, Pointer: pointer, SHA256: f.sum}
}

// stem is the name of a file without folder and ending.
func (f suiteFile) stem() string {
	base := path.Base(f.name)
	return strings.TrimSuffix(base, path.Ext(base))
}
