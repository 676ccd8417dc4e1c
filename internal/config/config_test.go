package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loopd/internal/testenv"
)

func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o600))
	return dir
}

func TestLoad(t *testing.T) {
	dir := write(t, "plugin: sub\nparallel: 3\nscenarios: [W1, R2]\nagent: ./tools/agent\nsuite: loopd-suite\nquota: {leave_5h: 25%}\npower: {on_battery: run}\nisolation: {rung: landlock, read: [/opt/ruby/, tools], memory: 1.5GiB, disk: 0}\nserve: {start: 30 22 * * 1-5; 0 14 * * 6, zone: Europe/Berlin, port: 7117}\nspend:\n  campaign_usd: 80\nproposer: {model: command, command: [tools/propose, --once], timeout: 90s, delete_share: 50%}\n")
	got, err := Load(dir, "", []string{"LOOPD_SESSIONS=120", "LOOPD_TIERS=haiku,sonnet", "LOOPD_JUDGE=", "LOOPD_QUOTA_LEAVE_7D=10%", "LOOPD_SPEND_CANDIDATE_USD=12.5", "LOOPD_ISOLATION_PROCESSES=300", "LOOPD_POWER_KEEP_AWAKE=false", "LOOPD_PROPOSER_PER_NIGHT=7"})
	testenv.Must(t, err)
	want := Config{
		Plugin: filepath.Join(dir, "sub"), Suite: filepath.Join(dir, "loopd-suite"), Agent: filepath.Join(dir, "tools/agent"),
		Parallel: 3, Sessions: 120, MaxCandidates: 60, Profile: "fast", Scenarios: []string{"W1", "R2"}, Tiers: []string{"haiku", "sonnet"},
		LeaveFiveHour: .25, LeaveSevenDay: .1, SpendCampaign: 80, SpendCandidate: 12.5,
		OnBattery: RunOnBattery, Rung: "landlock", Read: []string{"/opt/ruby", filepath.Join(dir, "tools")}, Memory: 3 << 29, Processes: 300, DiskFloor: 2 << 30,
		ServeStart: "30 22 * * 1-5; 0 14 * * 6", ServeUntil: "06:30", ServeZone: "Europe/Berlin", ServePort: 7117,
		Proposing: Proposing{
			Proposer: CommandModel, ProposerCommand: []string{filepath.Join(dir, "tools/propose"), "--once"}, ProposerTimeout: Span(90 * time.Second), PerNight: 7, DeleteShare: .5,
		},
	}
	testenv.Same(t, "result", want, got.Config)
	if starts := got.Config.Starts(); len(starts) != 2 || starts[1] != "0 14 * * 6" {
		t.Errorf("starts %q", starts)
	}
	origins := make(map[string]Origin)
	for _, s := range got.Settings {
		origins[s.Key] = s.Origin
	}
	for key, want := range map[string]Origin{"parallel": FromFile, "sessions": FromEnv, "judge": FromDefault, "tiers": FromEnv} {
		if origins[key] != want {
			t.Errorf("%s comes from %s, want %s", key, origins[key], want)
		}
	}
}

func TestLoadNamesTheDamage(t *testing.T) {
	for name, tc := range map[string]struct {
		text, want string
		env        []string
	}{
		"unknown key":        {"paralel: 3\n", "paralel: unknown key, did you mean parallel?", nil},
		"unknown, no match":  {"zzz: 3\n", "known are agent", nil},
		"text for number":    {"parallel: \"3\"\n", "parallel", nil},
		"number for text":    {"agent: 3\n", "agent", nil},
		"out of range":       {"parallel: 0\n", "parallel: 0", nil},
		"negative":           {"sessions: -1\n", "sessions", nil},
		"no yaml":            {"plugin: [\n", FileName, nil},
		"env not a number":   {"plugin: .\n", "not a number", []string{"LOOPD_PARALLEL=many"}},
		"share as a number":  {"quota: {leave_5h: 20}\n", "20 is no share such as 20%", nil},
		"share of all":       {"quota: {leave_7d: 100%}\n", "no share", nil},
		"share, no number":   {"quota: {leave_7d: much%}\n", "no share", nil},
		"unknown in section": {"quota: {leave_5d: 20%}\n", "quota.leave_5d: unknown key, did you mean quota.leave_5h?", nil},
		"no section":         {"quota: 20%\n", "quota: unknown key", nil},
		"negative amount":    {"spend: {session_usd: -1}\n", "spend.session_usd", nil},
		"unknown rung":       {"isolation: {rung: chroot}\n", "isolation.rung: \"chroot\" is not one of auto, bwrap, landlock, srt", nil},
		"size without unit":  {"isolation: {memory: 2000000000}\n", "no size such as 4GiB", nil},
		"size of decimals":   {"isolation: {disk: 2GB}\n", "no size such as 4GiB", nil},
		"too little memory":  {"isolation: {memory: 100MiB}\n", "isolation.memory: 100MiB is below 512MiB", nil},
		"too few processes":  {"isolation: {processes: 4}\n", "isolation.processes: 4 is below 64", nil},
		"too little disk":    {"isolation: {disk: 1KiB}\n", "isolation.disk: 1KiB is below 16MiB", nil},
		"everything shown":   {"isolation: {read: [/usr/..]}\n", "isolation.read: / is everything", nil},
		"a battery's word":   {"power: {on_battery: halt}\n", "power.on_battery: \"halt\" is not one of pause, run", nil},
		"awake or not":       {"power: {keep_awake: 1}\n", "keep_awake", nil},
		"awake, from env":    {"plugin: .\n", "\"yes\" is neither true nor false", []string{"LOOPD_POWER_KEEP_AWAKE=yes"}},
		"no time of day":     {"serve: {until: 25:00}\n", "serve.until: \"25:00\" is not a time of day", nil},
		"no such zone":       {"serve: {zone: Mars/Olympus}\n", "serve.zone: no time zone \"Mars/Olympus\"", nil},
		"unknown proposer":   {"proposer: {model: oracle}\n", "proposer.model: \"oracle\" is not one of auto, none, builtin, agent, command", nil},
		"no command":         {"proposer: {model: command}\n", "proposer.command: empty", nil},
		"command, unasked":   {"proposer: {command: [x]}\n", "proposer.command: given, but proposer.model is auto", nil},
		"command of blanks":  {"proposer: {model: command, command: [\" \"]}\n", "proposer.command: its first word is the program", nil},
		"command as text":    {"proposer: {model: command, command: ./x}\n", "proposer.command", nil},
		"tier, unasked":      {"proposer: {model: builtin, tier: haiku}\n", "proposer.tier: given, but proposer.model is builtin", nil},
		"time without unit":  {"proposer: {timeout: 60}\n", "60 is no time such as 5m", nil},
		"no time at all":     {"proposer: {timeout: 0s}\n", "proposer.timeout: 0s is below 1s", nil},
		"no asks":            {"proposer: {per_night: 0}\n", "proposer.per_night: 0 is below 1", nil},
		"share of proposals": {"proposer: {delete_share: 0.25}\n", "no share such as 20%", nil},
		"list expected":      {"tiers: {haiku: 1}\n", "tiers", nil},
	} {
		dir := write(t, tc.text)
		_, err := Load(dir, "", tc.env)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), FileName) {
			t.Errorf("%s: error %v does not name %s and %q", name, err, FileName, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error is not one line: %q", name, err)
		}
	}
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	_, err := Load(dir, "", nil)
	if nf, ok := errors.AsType[*NotFoundError](err); !ok || nf.Dir != dir {
		t.Errorf("got %v, want NotFoundError of %s", err, dir)
	}
}

func TestTemplateLoads(t *testing.T) {
	dir := write(t, fmt.Sprintf(Template, ".", Bundled))
	got, err := Load(dir, "", nil)
	testenv.Must(t, err)
	if got.Config.Plugin != dir || got.Config.Suite != Bundled || got.Config.Parallel != 2 {
		t.Errorf("got %+v", got.Config)
	}
}

// TestDefaultsOfAFirstNight are those of a laptop whose owner wants it in the
// morning.
func TestDefaultsOfAFirstNight(t *testing.T) {
	t.Parallel()
	c := Default()
	if c.Parallel != 2 || c.Sessions != 0 || c.LeaveFiveHour != .2 || c.LeaveSevenDay != .3 || !c.KeepAwake || c.OnBattery != PauseOnBattery {
		t.Errorf("got %+v", c)
	}
}

func TestSpanIsWrittenAsPeopleDo(t *testing.T) {
	for want, s := range map[string]Span{"5m": Span(5 * time.Minute), "1h": Span(time.Hour), "1h30m": Span(90 * time.Minute), "90ms": Span(90 * time.Millisecond), "2m30s": Span(150 * time.Second), "0s": 0} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
