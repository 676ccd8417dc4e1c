package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/setup"
)

func newScenario(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "scenario", Short: "write, check, import and export scenarios", Args: noArgs,
		Long: "  loopd scenario new W4 --skill find-things --fixture shop\n  loopd scenario lint\n  loopd scenario import evals/evals.json\n  loopd scenario export --plugin-eval cases",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newScenarioNew(e),
		newScenarioLint(e),
		newScenarioImport(e),
		newScenarioExport(e),
		newCell(e),
		newScore(e),
		newSandbox(e),
		newTranscript(e),
	)
	return cmd
}

// openDraftBench is openBench, and opens a suite that was never sealed, too. One
// that was changed since it was sealed stays refused.
func openDraftBench(ctx context.Context, e env) (b bench, isDraft bool, err error) {
	b, err = benchWith(ctx, e, func(ctx context.Context, h campaign.Home, c config.Config) (campaign.Sealed, error) {
		sealed, err := openSuite(ctx, h, c)
		if not, ok := errors.AsType[*campaign.NotSealedError](err); !ok || not.Drift != nil {
			return sealed, err
		}
		isDraft = true
		if sealed, err = campaign.OpenDraft(c.Suite); err != nil {
			return sealed, hint.New(hint.Usage, err, "loopd scenario lint")
		}
		return sealed, nil
	})
	return b, isDraft, err
}

// workbench is a suite as it lies there, sealed or not, and the plugin it is for.
type workbench struct {
	cfg     config.Config
	home    campaign.Home
	dir     string
	from    string // the working directory, seen from which paths are shown
	loaded  *frozen.Suite
	subject setup.Subject
	close   func()
}

// openWorkbench reads the suite of the settings, or the bundled one where there
// are none, however little of it is whole.
func openWorkbench(ctx context.Context, e env) (workbench, error) {
	l, err := loadConfig(e)
	if _, missing := errors.AsType[*config.NotFoundError](err); missing {
		b, err := bundledBench(ctx, campaign.BundledSuite)
		if err != nil {
			return workbench{}, err
		}
		w := workbench{home: b.home, from: e.Dir, dir: b.sealed.Dir, loaded: b.sealed.Frozen, close: b.close}
		w.subject = setup.Subject{Suite: b.sealed.Suite, Plugin: b.wording.Plugin}
		return w, nil
	}
	if err != nil {
		return workbench{}, err
	}
	w := workbench{cfg: l.Config, from: e.Dir, dir: l.Config.Suite, close: func() {}}
	if w.home, err = app.HomeOf(e.Env, l.Config); err != nil {
		return w, err
	}
	if w.dir == config.Bundled {
		w.dir = w.home.Suite()
		_, err := openSuite(ctx, w.home, l.Config)
		if _, changed := errors.AsType[*campaign.NotSealedError](err); err != nil && !changed {
			return w, err
		}
	}
	return w, w.read()
}

func (w *workbench) read() error {
	var err error
	if w.loaded, err = frozen.Load(w.dir); err != nil {
		return hint.New(hint.Usage, fmt.Errorf("read suite: %w", err), suiteHint(w.dir))
	}
	if w.subject.Suite, w.subject.Faults, err = harness.ReadDraft(w.loaded.FS()); err != nil {
		return hint.New(hint.Usage, errors.New(strings.ReplaceAll(fmt.Sprintf("%s: %v", w.dir, err), "\n", "; ")), profileHint(w.from, w.dir))
	}
	if w.subject.Graphs, err = w.home.Graphs(); err != nil {
		return err
	}
	inside, err := campaign.InsidePlugin(w.cfg.Plugin, w.dir)
	if err != nil {
		return err
	}
	_, w.subject.Plugin, err = campaign.TreeAt(w.cfg.Plugin, append(inside, ownSuite)...)
	return err
}

// suiteHint is the command that makes what is missing.
func suiteHint(dir string) string {
	if _, err := os.Stat(dir); err != nil {
		return makeSuite
	}
	return "loopd scenario lint --help"
}

// profileHint opens what a suite cannot be read without, or makes it.
func profileHint(from, dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "fixtures")); err != nil {
		return makeFixture(shownPath(from, dir), "project")
	}
	dir = shownPath(from, dir)
	return "$EDITOR " + quoted(filepath.Join(dir, "checker.yaml")) + " " + quoted(filepath.Join(dir, "launch.yaml"))
}

// makeSuite copies the bundled suite for a plugin that is set up without one. It
// keeps the settings there are.
const makeSuite = "mv " + config.FileName + " " + config.FileName + ".old && loopd init --own-suite"

// nearest is the name that was most likely meant, empty for none: as the command
// line suggests one for a mistyped verb, and the nearest of them.
func nearest(name string, names []string) string {
	c := &cobra.Command{}
	for _, n := range names {
		c.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	for distance := range max(2, len(name)/3) {
		c.SuggestionsMinimumDistance = distance + 1
		if s := c.SuggestionsFor(name); len(s) > 0 {
			return s[0]
		}
	}
	return ""
}

type newOptions struct {
	role    string
	skill   string
	fixture string
	json    bool
}

func newScenarioNew(e env) *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use: "new NAME", Short: "a scenario file to fill in", Args: oneArg("name"),
		Long: "  loopd scenario new W4 --skill find-things --fixture shop\n  loopd scenario new N1 --role guard --skill find-things --fixture shop\n\nWrites scenarios/NAME.md into your own suite, with comments that say what each\npart is for. It can be read as it is; loopd scenario lint NAME lists what is left\nto fill in. Nothing that exists is overwritten. Every role needs --skill and\n--fixture; of a guard the skill is the one a session must not turn to.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScenarioNew(cmd.Context(), e, args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.role, "role", string(harness.Objective), "objective, guard, control, reserve, practice")
	flagSkill(cmd, &o.skill, "the skill it is about; needed, also for a guard")
	f.StringVar(&o.fixture, "fixture", "", "the project it works on, below fixtures/; needed")
	flagJSON(cmd, &o.json)
	return cmd
}

func runScenarioNew(ctx context.Context, e env, name string, o newOptions) error {
	if err := o.complete(name); err != nil {
		return err
	}
	w, err := ownWorkbench(ctx, e)
	if err != nil {
		return err
	}
	n := setup.NewScenario{ID: name, Role: harness.Role(o.role), Skill: o.skill, NoHook: w.subject.Suite.Launch.Note.Kind == harness.NoteNone}
	if err := n.Validate(); err != nil {
		return hint.New(hint.Usage, fmt.Errorf("new scenario: %w", err), "loopd scenario new --help")
	}
	if err := w.checkSkill(name, o); err != nil {
		return err
	}
	if n.Fixture, err = w.fixture(e, name, o); err != nil {
		return err
	}
	i := slices.IndexFunc(w.subject.IDs(), func(id string) bool { return strings.EqualFold(id, name) })
	if i >= 0 {
		id := w.subject.IDs()[i]
		return hint.Usagef("loopd scenario lint "+id, "new scenario: %s exists", filepath.Join(w.dir, "scenarios", id+".md"))
	}
	if err := w.quiet(ctx, e); err != nil {
		return err
	}
	text, err := setup.WriteScenario(n)
	if err != nil {
		return hint.New(hint.Usage, err, "loopd scenario new --help")
	}
	path := filepath.Join(w.dir, "scenarios", name+".md")
	if err := writeNew(path, text); err != nil {
		return fmt.Errorf("new scenario: %w", err)
	}
	return w.tellNew(e, name, path, o.json)
}

// complete says which of the flags that every role needs is missing.
func (o newOptions) complete(name string) error {
	var missing []string
	skill, fixture := o.skill, o.fixture
	if skill == "" {
		missing, skill = append(missing, "--skill"), "SKILL"
	}
	if fixture == "" {
		missing, fixture = append(missing, "--fixture"), "NAME"
	}
	if len(missing) == 0 {
		return nil
	}
	role := ""
	if o.role != string(harness.Objective) {
		role = " --role " + quoted(o.role)
	}
	return hint.Usagef(fmt.Sprintf("loopd scenario new %s%s --skill %s --fixture %s", quoted(name), role, quoted(skill), quoted(fixture)),
		"new scenario: every role, a guard too, needs --skill and --fixture; missing: %s", strings.Join(missing, ", "))
}

// ownWorkbench opens the plugin's own suite; the bundled one takes no scenario.
func ownWorkbench(ctx context.Context, e env) (workbench, error) {
	l, err := loadConfig(e)
	if _, missing := errors.AsType[*config.NotFoundError](err); missing {
		return workbench{}, hint.New(hint.Usage, err, "loopd init --own-suite")
	}
	if err != nil {
		return workbench{}, err
	}
	if l.Config.Suite == config.Bundled {
		return workbench{}, hint.Usagef(makeSuite, "new scenario: this plugin has no suite of its own, and the bundled one takes none")
	}
	return openWorkbench(ctx, e)
}

func (w workbench) checkSkill(name string, o newOptions) error {
	skills := setup.SkillNames(w.subject.Plugin)
	if slices.Contains(skills, o.skill) {
		return nil
	}
	command := "loopd scenario new --help"
	if meant := nearest(o.skill, skills); meant != "" {
		command = fmt.Sprintf("loopd scenario new %s --skill %s --fixture %s", name, meant, o.fixture)
	}
	return hint.Usagef(command, "new scenario: the plugin as HEAD has it has no skill %q; it has %s", o.skill, orNone(skills))
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// fixture is the name of the project meant: a directory below the suite's
// fixtures/, by name or by path.
func (w workbench) fixture(e env, name string, o newOptions) (string, error) {
	base := filepath.Base(filepath.Clean(o.fixture))
	_, has := w.subject.Suite.Fixtures[base]
	if has && (base == o.fixture || e.Path(filepath.Clean(o.fixture)) == filepath.Join(w.dir, "fixtures", base)) {
		return base, nil
	}
	if info, err := os.Stat(e.Path(o.fixture)); err == nil && info.IsDir() && !has {
		command := fmt.Sprintf("cp -R %s %s", o.fixture, filepath.Join(w.dir, "fixtures", base))
		return "", hint.Usagef(command, "new scenario: %s is not below the suite's fixtures", o.fixture)
	}
	var known []string
	for f := range w.subject.Suite.Fixtures {
		known = append(known, f)
	}
	slices.Sort(known)
	command := makeFixture(shownPath(w.from, w.dir), base)
	if meant := nearest(base, known); meant != "" {
		command = fmt.Sprintf("loopd scenario new %s --skill %s --fixture %s", name, o.skill, meant)
	}
	return "", hint.Usagef(command, "new scenario: no fixture %q; the suite has %s", o.fixture, orNone(known))
}

// quiet refuses to touch the suite of a campaign under way: a new file in it is
// drift, and halts.
func (w workbench) quiet(ctx context.Context, e env) error {
	r, err := openReview(ctx, e, w.home.Dir)
	if err != nil || len(r.states) == 0 || r.states[len(r.states)-1].Ended != nil {
		return err
	}
	return hint.Usagef("loopd status", "new scenario: a campaign is under way on this suite, and a new file in it would halt that")
}

// writeNew writes a whole new file, or none.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// newlyWritten is the JSON of scenario new.
type newlyWritten struct {
	Scenario string          `json:"scenario"`
	File     string          `json:"file"`
	Findings []setup.Finding `json:"findings"` // what is to be filled in
}

func (w workbench) tellNew(e env, name, path string, asJSON bool) error {
	static := slices.DeleteFunc(setup.Lint(w.again()), func(f setup.Finding) bool { return f.Scenario != name })
	if asJSON {
		return printJSON(e.stdout, newlyWritten{name, path, static})
	}
	if _, err := frozen.ReadManifest(w.dir); err == nil {
		fmt.Fprintln(e.stderr, `loopd: the suite was sealed; nothing runs on it until loopd freeze --reason "new scenario"`)
	}
	_, err := fmt.Fprintf(e.stdout, "wrote %s\n%s to fill in\n\nNext: loopd scenario lint %s\n", path, counted(len(static), "place"), name)
	return err
}

// again is the subject as it is after a file was written.
func (w workbench) again() setup.Subject {
	if err := w.read(); err != nil {
		return setup.Subject{}
	}
	return w.subject
}
