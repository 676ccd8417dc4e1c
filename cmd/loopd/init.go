package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loopd/frozen"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/git"
	"loopd/internal/hint"
	"loopd/internal/setup"
)

type initOptions struct {
	plugin string
	own    bool
	json   bool
}

func newInit(e env) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use: "init", Short: "survey the plugin in this directory and set it up", Args: noArgs,
		Long: "  loopd init\n  loopd init --plugin NAME\n  loopd init --own-suite\n\nReads the plugin in this directory, or the one of a marketplace that is named,\nand says what it holds and what will get in the way. Then it writes loopd.yaml\nand, where no bundled suite measures the plugin, loopd-suite/ to fill in.\n--own-suite writes loopd-suite/ in any case, also beside a loopd.yaml that is\nthere: for the bundled plugin a copy of its suite. Nothing of the plugin is run,\nand nothing that exists is overwritten.",
		RunE: func(*cobra.Command, []string) error { return runInit(e, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.plugin, "plugin", "", "which plugin of a marketplace")
	f.BoolVar(&o.own, "own-suite", false, "write loopd-suite/ to edit, also for the bundled plugin")
	flagJSON(cmd, &o.json)
	return cmd
}

// ownSuite is where a plugin's own suite lies by default.
const ownSuite = "loopd-suite"

// initDone is what init found and did, also as its JSON.
type initDone struct {
	Dir    string       `json:"dir"` // of the plugin
	Plugin setup.Plugin `json:"plugin"`
	Wrote  []string     `json:"wrote"`
	Kept   []string     `json:"kept"` // was there, and was left alone
	Suite  string       `json:"suite"`
	// Manifest is the command that writes the manifest the plugin lacks, empty where
	// it has one.
	Manifest string `json:"manifest,omitempty"`
	// Set is the line for a loopd.yaml that names another suite, empty for none.
	Set  string `json:"set,omitempty"`
	Next string `json:"next"`
	// More is what to read before that, empty for nothing.
	More string `json:"more,omitempty"`
}

func runInit(e env, o initOptions) error {
	settings := filepath.Join(e.Dir, config.FileName)
	_, err := os.Lstat(settings)
	had := err == nil
	if had && !o.own {
		return hint.Usagef("loopd", "set up %s: %s exists; loopd alone says what comes next", e.Dir, settings)
	}
	s, place, err := surveyHere(e, o, had)
	if err != nil {
		return err
	}
	if _, err := git.OpenUser(s.Dir); err != nil {
		return fmt.Errorf("set up %s: %w", s.Plugin.Name, err)
	}
	if err := s.writeSuite(e, o.own); err != nil {
		return err
	}
	if had {
		s.Kept = append(s.Kept, config.FileName)
		s.set(e)
	} else if err := s.writeSettings(settings, place); err != nil {
		return err
	}
	s.Next = s.next(e)
	if o.json {
		return printJSON(e.stdout, s)
	}
	return s.print(e.stdout)
}

// surveyHere finds the plugin that is meant and surveys it. Beside settings that
// exist it is the plugin they name.
func surveyHere(e env, o initOptions, had bool) (initDone, string, error) {
	var place, listed string
	var err error
	if had && o.plugin == "" {
		place, err = configured(e)
	} else {
		place, listed, err = choose(e, o.plugin)
	}
	if err != nil {
		return initDone{}, "", err
	}
	s := initDone{Dir: filepath.Join(e.Dir, filepath.FromSlash(place)), Wrote: []string{}, Kept: []string{}}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return initDone{}, "", fmt.Errorf("set up %s: %w", s.Dir, err)
	}
	defer root.Close()
	s.Plugin, err = setup.Survey(root.FS())
	if errors.Is(err, setup.ErrNoPlugin) && listed != "" {
		s.Plugin, s.Manifest, err = setup.SurveyListed(root.FS(), listed), manifestLine(place, listed), nil
	}
	if err != nil {
		return initDone{}, "", hint.Usagef("loopd init --help", "set up %s: %w", s.Dir, err)
	}
	return s, place, nil
}

// configured is the place of the plugin that loopd.yaml names.
func configured(e env) (string, error) {
	l, err := loadConfig(e)
	if err != nil {
		return "", err
	}
	place, err := filepath.Rel(e.Dir, l.Config.Plugin)
	if err != nil {
		return "", fmt.Errorf("set up %s: %w", l.Config.Plugin, err)
	}
	return filepath.ToSlash(place), nil
}

// choose finds the plugin that is meant among those of the repository: its place,
// and the name it is listed by.
func choose(e env, name string) (place, listed string, err error) {
	root, err := os.OpenRoot(e.Dir)
	if err != nil {
		return "", "", fmt.Errorf("set up %s: %w", e.Dir, err)
	}
	defer root.Close()
	places, err := setup.Places(root.FS())
	if errors.Is(err, setup.ErrNoPlugin) {
		return "", "", hint.Usagef(nearestPlugin(e.Dir), "set up %s: no plugin here: %w", e.Dir, err)
	}
	if err != nil {
		return "", "", hint.Usagef("loopd init --help", "set up %s: %w", e.Dir, err)
	}
	here := slices.DeleteFunc(slices.Clone(places), func(p setup.Place) bool { return !p.Manifest })
	if name != "" {
		here = slices.DeleteFunc(places, func(p setup.Place) bool { return p.Name != name })
	}
	switch {
	case len(here) == 1:
		return here[0].Dir, here[0].Name, measurable(e.Dir, here[0])
	case len(here) > 1:
		return "", "", hint.Usagef("loopd init --plugin "+here[0].Name, "set up %s: %d plugins here, say which: %s", e.Dir, len(here), names(here))
	case name != "":
		return "", "", hint.Usagef("loopd init", "set up %s: no plugin %q here", e.Dir, name)
	}
	return places[0].Dir, places[0].Name, measurable(e.Dir, places[0])
}

func names(places []setup.Place) string {
	var out []string
	for _, p := range places {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

// measurable refuses a plugin that no session could be started with.
func measurable(dir string, p setup.Place) error {
	switch {
	case p.Fault != "":
		return hint.Usagef("loopd init --help", "set up %s: %s: %s", dir, p.Name, p.Fault)
	case p.Source != "":
		return hint.Usagef("git clone ITS-REPOSITORY && cd ITS-REPOSITORY && loopd init", "set up %s: %s is not here: its source is %s", dir, p.Name, p.Source)
	case !p.Manifest && !p.Tree:
		return hint.Usagef(manifestLine(p.Dir, p.Name),
			"set up %s: only the marketplace describes %s, and without a %s no session would find its skills", dir, p.Name, path.Join(p.Dir, setup.ManifestPath))
	}
	return nil
}

// manifestLine is the command that gives a plugin the manifest it lacks.
func manifestLine(dir, name string) string {
	at := path.Join(dir, setup.ManifestPath)
	return "mkdir -p " + quoted(path.Dir(at)) + " && echo '{\"name\": \"" + name + "\"}' > " + quoted(at)
}

// nearestPlugin is the command for a directory without a plugin: to go where one is.
func nearestPlugin(dir string) string {
	for _, pattern := range []string{"*", "plugins/*"} {
		found, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern), setup.ManifestPath)) // the pattern is sound but for dir
		for _, f := range found {
			if rel, err := filepath.Rel(dir, filepath.Dir(filepath.Dir(f))); err == nil && plainPath.MatchString(rel) {
				return "cd " + rel + " && loopd init"
			}
		}
	}
	return "cd PLUGIN && loopd init"
}

// plainPath is a path that YAML and a shell take without quotes.
var plainPath = regexp.MustCompile(`^[\w.][\w./-]*$`)

// writeSuite lays out what measures the plugin. A suite that lies there already
// is used, unless one was asked for.
func (s *initDone) writeSuite(e env, own bool) error {
	suite, bundled, err := campaign.BundledFor(s.Plugin.Name)
	if err != nil {
		return err
	}
	if bundled && !own {
		s.Suite = config.Bundled
		return nil
	}
	s.Suite = ownSuite
	dir := filepath.Join(e.Dir, ownSuite)
	write := func() error { return campaign.WriteBundledSuite(suite, dir) }
	if !bundled {
		fsys, err := setup.NewSuite(s.Plugin)
		if err != nil {
			return err
		}
		write = func() error { return frozen.Materialise(fsys, nil, dir) }
	}
	err = write()
	switch {
	case errors.Is(err, fs.ErrExist) && own:
		return hint.Usagef("loopd", "set up %s: %s exists; loopd alone says what comes next", s.Plugin.Name, dir)
	case errors.Is(err, fs.ErrExist):
		s.Kept = append(s.Kept, ownSuite+"/")
	case err != nil:
		return fmt.Errorf("set up %s: %w", s.Plugin.Name, err)
	default:
		s.Wrote = append(s.Wrote, ownSuite+"/")
	}
	return nil
}

func (s *initDone) writeSettings(path, place string) error {
	if !plainPath.MatchString(place) {
		place = fmt.Sprintf("%q", place)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("set up %s: %w", s.Plugin.Name, err)
	}
	_, err = fmt.Fprintf(f, config.Template, place, s.Suite)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("set up %s: %w", s.Plugin.Name, err)
	}
	s.Wrote = append(s.Wrote, config.FileName)
	return nil
}

// set names the line that a loopd.yaml needs which was there before the suite.
// It is the user's file, and not touched.
func (s *initDone) set(e env) {
	l, err := loadConfig(e)
	if err != nil || l.Config.Suite != filepath.Join(e.Dir, ownSuite) {
		s.Set = "suite: " + ownSuite
	}
}

// next is the command that comes next, and what to do before it.
func (s *initDone) next(e env) string {
	if s.Manifest != "" {
		return s.Manifest
	}
	if s.Suite == config.Bundled {
		return "loopd doctor"
	}
	next := "loopd freeze"
	if found, _ := filepath.Glob(filepath.Join(e.Dir, ownSuite, "scenarios", "*.md")); s.Suite == ownSuite && len(found) == 0 {
		next = makeFixture(ownSuite, "project")
		s.More = ownSuite + "/README.md says what the suite needs: a small project below fixtures, and scenarios."
	}
	if s.Set != "" {
		next += fmt.Sprintf(", once %s says %q", config.FileName, s.Set)
	}
	return next
}
