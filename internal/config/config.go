// Package config reads the settings of a plugin's loopd.yaml and says where
// each one came from. It is the only importer of viper.
//
// It validates and resolves paths; it opens nothing else. Unknown keys, weak
// types and durations without a unit are errors that name file and key, because
// a night spent under a mistyped setting is lost. Order of precedence: the
// environment (LOOPD_<KEY>), the file, the default.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"loopd/internal/hint"
	"loopd/loop"
)

// FileName is the name of the settings file in a plugin's repository.
const FileName = "loopd.yaml"

// Bundled is the value of suite that means the suite inside the program.
const Bundled = "bundled"

// Config is the settings in force. Paths are absolute after Load.
type Config struct {
	Plugin         string   `mapstructure:"plugin"`          // directory with .claude-plugin/plugin.json
	Suite          string   `mapstructure:"suite"`           // directory of the suite, or bundled
	State          string   `mapstructure:"state"`           // state directory; empty for the default
	Agent          string   `mapstructure:"agent"`           // agent CLI, a name on PATH or a path
	Judge          string   `mapstructure:"judge"`           // command that answers YES or NO; empty for none
	Parallel       int      `mapstructure:"parallel"`        // sessions side by side
	Sessions       int      `mapstructure:"sessions"`        // budget of a campaign; 0 asks for a flag
	MaxCandidates  int      `mapstructure:"max_candidates"`  // the budget is shared among so many
	Profile        string   `mapstructure:"profile"`         // rule for keeping
	SessionSeconds int      `mapstructure:"session_seconds"` // how long a session takes, until some were measured; 0 for unknown
	SessionUSD     float64  `mapstructure:"session_usd"`     // what a session costs, until some were measured; 0 for unknown
	Sentinels      float64  `mapstructure:"sentinels"`       // share of cells a round that watch for drift of the model
	Scenarios      []string `mapstructure:"scenarios"`       // ids to run; empty for all
	Tiers          []string `mapstructure:"tiers"`           // names to run; empty for all
	// LeaveFiveHour and LeaveSevenDay are the shares of a subscription's
	// allowances that are kept for its owner.
	LeaveFiveHour Percent `mapstructure:"quota.leave_5h"`
	LeaveSevenDay Percent `mapstructure:"quota.leave_7d"`
	// The limits of spending in USD at list price; 0 for none.
	SpendSession   float64 `mapstructure:"spend.session_usd"`
	SpendCandidate float64 `mapstructure:"spend.candidate_usd"`
	SpendCampaign  float64 `mapstructure:"spend.campaign_usd"`
	// KeepAwake keeps the machine from falling asleep while a campaign runs, and
	// OnBattery is what happens to one when the mains are gone.
	KeepAwake bool    `mapstructure:"power.keep_awake"`
	OnBattery Battery `mapstructure:"power.on_battery"`
	// How sessions are shut in: the rung, what more they may read of the machine,
	// and the most that each may use.
	Rung      string   `mapstructure:"isolation.rung"`
	Read      []string `mapstructure:"isolation.read"`
	Memory    Size     `mapstructure:"isolation.memory"`
	Processes int      `mapstructure:"isolation.processes"`
	Disk      Size     `mapstructure:"isolation.disk"`
	// When "loopd serve" opens windows: cron specs, a semicolon between two, by
	// the clock of a time zone, empty for this machine's; each window ends when
	// that clock shows the time of day. Webhook is a command that is told what its
	// owner should know.
	ServeStart   string `mapstructure:"serve.start"`
	ServeUntil   string `mapstructure:"serve.until"`
	ServeZone    string `mapstructure:"serve.zone"`
	ServeWebhook string `mapstructure:"serve.webhook"`
	ServePort    int    `mapstructure:"serve.port"` // of the pages, 0 for any that is free
	// DiskFloor is the room below which nothing is started; 0 for no such limit.
	DiskFloor Size `mapstructure:"disk_floor"`
	// Proposing is who proposes when the queue is empty.
	Proposing `mapstructure:",squash"`
}

// Percent is a share of 1, written such as "20%".
type Percent float64

// String writes it as people do.
func (p Percent) String() string { return strconv.FormatFloat(100*float64(p), 'f', -1, 64) + "%" }

// Origin says where a setting came from.
type Origin string

// The origins of a setting.
const (
	FromDefault Origin = "default"
	FromFile    Origin = "file"
	FromEnv     Origin = "environment"
)

// Setting is one setting as it is in force.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin Origin `json:"origin"`
	Where  string `json:"where,omitempty"` // file or variable
}

// Loaded is what Load found: the settings and their origins.
type Loaded struct {
	Config   Config
	File     string // path read, empty when there was none
	Settings []Setting
}

// NotFoundError says that there is no settings file.
type NotFoundError struct{ Dir string }

// Error names the directory.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("read settings: no %s in %s", FileName, e.Dir)
}

// Exit returns the code of wrong usage.
func (e *NotFoundError) Exit() int { return hint.Usage }

// Hint returns the command that writes the settings.
func (e *NotFoundError) Hint() string { return "loopd init" }

func defaults() map[string]any {
	return map[string]any{
		"plugin": ".", "disk_floor": Size(2 << 30), "suite": Bundled, "state": "", "agent": "claude", "judge": "", "parallel": 2, "sessions": 0,
		"max_candidates": 60, "profile": "fast", "session_seconds": 0, "session_usd": 0.0, "sentinels": 0.0, "scenarios": []string{}, "tiers": []string{},
		"quota.leave_5h": Percent(.2), "quota.leave_7d": Percent(.3), "spend.session_usd": 0.0, "spend.candidate_usd": 0.0, "spend.campaign_usd": 0.0,
		"serve.start": "", "serve.until": "06:30", "serve.zone": "", "serve.webhook": "", "serve.port": 0,
		"power.keep_awake": true, "power.on_battery": string(PauseOnBattery),
		"isolation.rung": "auto", "isolation.read": []string{}, "isolation.memory": Size(4 << 30), "isolation.processes": 1024, "isolation.disk": Size(4 << 30),
		"proposer.model": string(AutoModel), "proposer.command": []string{}, "proposer.tier": "", "proposer.timeout": Span(5 * time.Minute),
		"proposer.per_night": 60, "proposer.delete_share": Percent(.25),
	}
}

// Default is the settings where there is no file.
func Default() Config {
	var c Config
	if err := decode(defaults(), &c); err != nil {
		panic("config: the defaults do not decode: " + err.Error()) // they are part of the program
	}
	return c
}

// Load reads path, or loopd.yaml in dir when path is empty. The environment is
// given as os.Environ gives it.
func Load(dir, path string, environ []string) (Loaded, error) {
	if path == "" {
		path = filepath.Join(dir, FileName)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Loaded{}, fmt.Errorf("read settings: %w", err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return Loaded{}, &NotFoundError{Dir: filepath.Dir(path)}
	}
	file, err := readFile(path)
	if err != nil {
		return Loaded{}, err
	}
	out := Loaded{File: path}
	if err := out.merge(file, environ); err != nil {
		return Loaded{}, fmt.Errorf("read settings %s: %w", path, err)
	}
	out.Config.resolve(filepath.Dir(path))
	if err := out.Config.validate(); err != nil {
		return Loaded{}, fmt.Errorf("read settings %s: %w", path, err)
	}
	return out, nil
}

// readFile parses the file with viper. Map keys are compared in lower case by
// viper, so ids are values of lists here, never keys.
func readFile(path string) (map[string]any, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	v.SetConfigFile(path)
	v.SetConfigType("yaml")
	if err := v.ReadInConfig(); err != nil {
		return nil, fmt.Errorf("read settings %s: %w", path, err)
	}
	return flat("", v.AllSettings()), nil
}

// flat names the keys of a section by the section and a dot.
func flat(section string, values map[string]any) map[string]any {
	out := make(map[string]any)
	for key, value := range values {
		inner, ok := value.(map[string]any)
		if !ok || section != "" || !slices.Contains(sections(), key) {
			out[section+key] = value
			continue
		}
		for k, v := range flat(key+".", inner) {
			out[k] = v
		}
	}
	return out
}

// sections are the keys of the file that hold keys.
func sections() []string {
	var out []string
	for _, k := range Keys() {
		if section, _, ok := strings.Cut(k, "."); ok && !slices.Contains(out, section) {
			out = append(out, section)
		}
	}
	return out
}

// merge lays file and environment over the defaults and notes the origins.
func (l *Loaded) merge(file map[string]any, environ []string) error {
	values := defaults()
	for key := range file {
		if _, ok := values[key]; !ok {
			return fmt.Errorf("%s: unknown key%s", key, suggestion(key))
		}
	}
	for _, key := range Keys() {
		s := Setting{Key: key, Value: values[key], Origin: FromDefault}
		if v, ok := file[key]; ok {
			s.Value, s.Origin, s.Where = v, FromFile, l.File
		}
		name := "LOOPD_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
		if v, ok := lookup(environ, name); ok {
			s.Value, s.Origin, s.Where = fromEnv(values[key], v), FromEnv, name
		}
		values[key] = s.Value
		l.Settings = append(l.Settings, s)
	}
	return decode(values, &l.Config)
}

// decode fills the struct without any coercion but that of numbers given in
// the environment.
func decode(values map[string]any, into *Config) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: into, ErrorUnused: true, WeaklyTypedInput: false, DecodeHook: mapstructure.ComposeDecodeHookFunc(percent, size, duration, envNumber),
	})
	if err != nil {
		return err
	}
	if err := d.Decode(values); err != nil {
		return fmt.Errorf("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

// envText marks a value that came as text because variables have no types.
type envText string

func fromEnv(def any, value string) any {
	switch def.(type) {
	case []string:
		return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	case string:
		return value
	default:
		return envText(value)
	}
}

func envNumber(from, to reflect.Type, value any) (any, error) {
	if from != reflect.TypeFor[envText]() || to.Kind() != reflect.Int && to.Kind() != reflect.Float64 && to.Kind() != reflect.Bool {
		return value, nil
	}
	if to.Kind() == reflect.Bool {
		switch value.(envText) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", value)
	}
	if to.Kind() == reflect.Float64 {
		x, err := strconv.ParseFloat(string(value.(envText)), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", value)
		}
		return x, nil
	}
	var n int
	if _, err := fmt.Sscanf(string(value.(envText)), "%d", &n); err != nil {
		return nil, fmt.Errorf("%q is not a number", value)
	}
	return n, nil
}

func lookup(environ []string, name string) (string, bool) {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok && v != "" {
			return v, true
		}
	}
	return "", false
}

// Keys lists the known keys in order.
func Keys() []string {
	var keys []string
	for k := range defaults() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// suggestion names the known key that shares most of its start and end.
func suggestion(key string) string {
	best, length := "", 2
	for _, k := range Keys() {
		n, m := 0, 0
		for n < min(len(k), len(key)) && k[n] == key[n] {
			n++
		}
		for m < min(len(k), len(key))-n && k[len(k)-1-m] == key[len(key)-1-m] {
			m++
		}
		if n += m; n > length {
			best, length = k, n
		}
	}
	if best == "" {
		return ", known are " + strings.Join(Keys(), ", ")
	}
	return ", did you mean " + best + "?"
}

func (c *Config) resolve(dir string) {
	c.resolveRead(dir)
	c.resolveProposer(dir)
	for _, p := range []*string{&c.Plugin, &c.State} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	if c.Suite != Bundled && !filepath.IsAbs(c.Suite) {
		c.Suite = filepath.Join(dir, c.Suite)
	}
	if strings.ContainsRune(c.Agent, filepath.Separator) && !filepath.IsAbs(c.Agent) {
		c.Agent = filepath.Join(dir, c.Agent)
	}
}

func profiles() []string {
	var out []string
	for _, p := range loop.Profiles() {
		out = append(out, string(p))
	}
	return out
}

func (c Config) validate() error {
	var errs []error
	if c.Parallel < 1 || c.Parallel > 64 {
		errs = append(errs, fmt.Errorf("parallel: %d is not within 1 to 64", c.Parallel))
	}
	if c.Sessions < 0 {
		errs = append(errs, fmt.Errorf("sessions: %d is below 0", c.Sessions))
	}
	if c.MaxCandidates < 1 {
		errs = append(errs, fmt.Errorf("max_candidates: %d is below 1", c.MaxCandidates))
	}
	if c.SessionSeconds < 0 || !(c.SessionUSD >= 0) || math.IsInf(c.SessionUSD, 1) {
		errs = append(errs, fmt.Errorf("session_seconds, session_usd: %d, %v: below 0", c.SessionSeconds, c.SessionUSD))
	}
	for key, usd := range map[string]float64{"spend.session_usd": c.SpendSession, "spend.candidate_usd": c.SpendCandidate, "spend.campaign_usd": c.SpendCampaign} {
		if !(usd >= 0) || math.IsInf(usd, 1) {
			errs = append(errs, fmt.Errorf("%s: %v is no amount in USD", key, usd))
		}
	}
	if !(c.Sentinels >= 0 && c.Sentinels < 1) {
		errs = append(errs, fmt.Errorf("sentinels: %v is not within [0,1)", c.Sentinels))
	}
	if !slices.Contains(profiles(), c.Profile) {
		errs = append(errs, fmt.Errorf("profile: %q is not one of %s", c.Profile, strings.Join(profiles(), ", ")))
	}
	errs = append(errs, c.validateIsolation(), c.OnBattery.validate(), c.validateServe(), c.validateProposer())
	if c.Agent == "" {
		errs = append(errs, errors.New("agent: empty"))
	}
	return errors.Join(errs...)
}
