package campaign

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"loopd/fixtures"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/hint"
	"loopd/scenarios"
)

// Sealed is a suite as it was sealed: where it lies, its bytes and what they
// mean.
type Sealed struct {
	Dir    string
	Frozen *frozen.Suite
	Suite  harness.Suite
}

// NotSealedError says that a suite was never sealed, or was changed since.
type NotSealedError struct {
	Dir   string
	Drift *frozen.Drift // nil when it was never sealed
}

// Error names the directory and the first path that moved.
func (e *NotSealedError) Error() string {
	if e.Drift == nil {
		return fmt.Sprintf("open suite %s: not sealed", e.Dir)
	}
	more := ""
	if n := len(e.Drift.Deltas) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	first := e.Drift.Deltas[0]
	return fmt.Sprintf("open suite %s: changed since it was sealed: %s %q%s", e.Dir, first.Kind, first.Path, more)
}

// Hint returns the command that seals.
func (e *NotSealedError) Hint() string {
	if e.Drift == nil {
		return "loopd freeze"
	}
	return `loopd freeze --reason "why it changed"`
}

// Exit tells a suite that changed from one that was never sealed.
func (e *NotSealedError) Exit() int {
	if e.Drift != nil {
		return hint.Drift
	}
	return hint.Usage
}

// OpenSuite reads a sealed directory into memory and checks that it is what was
// sealed. Everything is used from these bytes from now on.
func OpenSuite(dir string) (Sealed, error) {
	want, err := frozen.ReadManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(dir); statErr != nil {
			return Sealed{}, fmt.Errorf("open suite: %w", statErr)
		}
		return Sealed{}, &NotSealedError{Dir: dir}
	}
	if err != nil {
		return Sealed{}, err
	}
	suite, err := frozen.Load(dir)
	if err != nil {
		return Sealed{}, err
	}
	if suite.Digest() != want.Digest() {
		deltas := frozen.Compare(want, suite.Manifest())
		return Sealed{}, &NotSealedError{Dir: dir, Drift: &frozen.Drift{Deltas: deltas, Old: want.Digest(), New: suite.Digest()}}
	}
	parsed, err := harness.ParseSuite(suite.FS())
	if err != nil {
		return Sealed{}, fmt.Errorf("open suite %s: %w", dir, err)
	}
	return Sealed{Dir: dir, Frozen: suite, Suite: parsed}, nil
}

// OpenDraft reads a suite that was never sealed, whole or not at all. Sealed is
// then the suite as it is now: Verify says whether it has changed since.
func OpenDraft(dir string) (Sealed, error) {
	suite, err := frozen.Load(dir)
	if err != nil {
		return Sealed{}, fmt.Errorf("open draft suite: %w", err)
	}
	parsed, err := harness.ParseSuite(suite.FS())
	if err != nil {
		return Sealed{}, fmt.Errorf("open draft suite %s: %w", dir, err)
	}
	return Sealed{Dir: dir, Frozen: suite, Suite: parsed}, nil
}

// contents maps the bytes of every sealed file that is no fixture to its name:
// a plugin that carries one would show a session what it is measured by.
func (s Sealed) contents() (map[[sha256.Size]byte]string, error) {
	out := make(map[[sha256.Size]byte]string)
	if s.Frozen == nil {
		return out, nil
	}
	fsys := s.Frozen.FS()
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "fixtures/") {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if len(data) > 0 {
			out[sha256.Sum256(data)] = name
		}
		return err
	})
	return out, err
}

// Verify compares the directory with what was read from it.
func (s Sealed) Verify(ctx context.Context) (*frozen.Drift, error) {
	return frozen.Verify(ctx, s.Dir, s.Frozen.Manifest())
}

// BundledSuite is the name of the suite inside the program that is meant when
// none is named.
const BundledSuite = scenarios.Default

// BundledSuites lists the names of the suites inside the program.
func BundledSuites() ([]string, error) {
	dirs, err := fs.ReadDir(scenarios.FS(), ".")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, d := range dirs {
		out = append(out, d.Name())
	}
	return out, nil
}

// ReadBundled reads a suite inside the program. An error names the suites there
// are.
func ReadBundled(name string) (harness.Suite, error) {
	fsys, err := bundledFS(name)
	if err != nil {
		return harness.Suite{}, err
	}
	suite, err := harness.ParseSuite(fsys)
	if err != nil {
		return suite, fmt.Errorf("bundled suite %s: %w", name, err)
	}
	return suite, nil
}

// BundledFor returns the name of the bundled suite whose checker names a plugin;
// ok is false where there is none.
func BundledFor(plugin string) (name string, ok bool, err error) {
	names, err := BundledSuites()
	if err != nil {
		return "", false, err
	}
	for _, name := range names {
		suite, err := ReadBundled(name)
		if err != nil {
			return "", false, err
		}
		if suite.Checker.Plugin == plugin {
			return name, true, nil
		}
	}
	return "", false, nil
}

// WriteBundled lays the default bundled suite out in a new directory, unsealed.
func WriteBundled(dir string) error { return WriteBundledSuite(BundledSuite, dir) }

// WriteBundledSuite does the same with any of BundledSuites.
func WriteBundledSuite(name, dir string) error {
	fsys, err := bundledFS(name)
	if err != nil {
		return fmt.Errorf("lay out the bundled suite: %w", err)
	}
	return frozen.Materialise(fsys, nil, dir)
}

// bundledFS arranges embedded scenarios and their fixtures as a suite on disk.
func bundledFS(name string) (fs.FS, error) {
	names, err := BundledSuites()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("no bundled suite %q; there are: %s", name, strings.Join(names, ", "))
	}
	out := make(fstest.MapFS)
	add := func(fsys fs.FS, root string, place func(name string) string) error {
		return fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(fsys, name)
			out[place(name)] = &fstest.MapFile{Data: data, Mode: 0o644}
			return err
		})
	}
	err = add(scenarios.FS(), name, func(file string) string {
		file = strings.TrimPrefix(file, name+"/")
		if path.Ext(file) == ".md" && file != "rubric.md" {
			return "scenarios/" + file
		}
		return file
	})
	if err != nil {
		return nil, err
	}
	used, err := fixturesOf(out)
	for _, fixture := range used {
		err = errors.Join(err, add(fixtures.FS(), fixture, func(file string) string { return "fixtures/" + file }))
	}
	return out, err
}

// fixturesOf lists the fixtures the scenarios work on: another suite's are no
// part of this one's seal.
func fixturesOf(suite fstest.MapFS) ([]string, error) {
	var out []string
	for name, f := range suite {
		if !strings.HasPrefix(name, "scenarios/") {
			continue
		}
		sc, err := harness.ParseScenario(name, f.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, sc.Fixture)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// OpenBundled lays the default bundled suite out in the state directory and
// seals it the first time, and opens it.
func (h Home) OpenBundled(ctx context.Context) (Sealed, error) {
	return h.OpenBundledSuite(ctx, BundledSuite)
}

// OpenBundledSuite does the same with any of BundledSuites.
func (h Home) OpenBundledSuite(ctx context.Context, name string) (Sealed, error) {
	fsys, err := bundledFS(name)
	if err != nil {
		return Sealed{}, fmt.Errorf("lay out the bundled suite: %w", err)
	}
	if err := frozen.LayOut(ctx, fsys, h.Suite()); err != nil && !errors.Is(err, fs.ErrExist) {
		return Sealed{}, err
	}
	return OpenSuite(h.Suite())
}
