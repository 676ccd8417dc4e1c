package fake_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/testenv"
)

// situations are whole sessions, each with a golden of its line kinds.
func situations() map[string]func(r *rig) {
	return map[string]func(r *rig){
		"oracle":     func(*rig) {},
		"oracle-4x":  func(r *rig) { r.tier = model4 },
		"nop":        func(r *rig) { r.model = fake.NewModel(fake.Wording{}) },
		"overloaded": func(r *rig) { r.session.Fault = fake.FaultOverloaded },
		"unavailable": func(r *rig) {
			r.session.Fault = fake.FaultUnavailable
			r.env = []string{"CLAUDE_CODE_MAX_RETRIES=1"}
		},
		"rate-limit": func(r *rig) { r.session.Fault = fake.FaultRateLimit },
		"server-error": func(r *rig) {
			r.session.Fault = fake.FaultServerError
			r.env = []string{"CLAUDE_CODE_MAX_RETRIES=1"}
		},
		"auth":    func(r *rig) { r.session.Fault = fake.FaultAuth; r.env = []string{"CLAUDE_CODE_MAX_RETRIES=1"} },
		"billing": func(r *rig) { r.session.Fault = fake.FaultBilling },
		"model-gone": func(r *rig) {
			r.session.Fault = fake.FaultModelGone
		},
		"cut": func(r *rig) { r.session.Fault = fake.FaultCut },
		"refused": func(r *rig) {
			r.env = []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES=1"}
		},
		"tool-errors": func(r *rig) {
			r.session.Scenario.Oracle = []harness.Step{
				{Bash: "echo oops >&2; exit 3"}, {Read: "notes/none.md"}, {Skill: "nowhere"}, {Text: "All failed."},
			}
		},
	}
}

// exitCodes of the situations; 0 where not listed.
func exitCodes() map[string]int {
	return map[string]int{
		"unavailable": 1, "rate-limit": 1, "server-error": 1, "auth": 1, "billing": 1, "model-gone": 1, "refused": 1,
	}
}

func TestLineKinds(t *testing.T) {
	t.Parallel()
	for name, prepare := range situations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, goodHook)
			prepare(r)
			o := inProcess(r)
			if o.code != exitCodes()[name] {
				t.Errorf("exit: got %d, want %d; stderr %s", o.code, exitCodes()[name], o.stderr)
			}
			got := strings.Join(o.kinds(), "\n") + "\n"
			testenv.Golden(t, filepath.Join("testdata", "kinds", name+".golden"), []byte(got))
		})
	}
}

func TestOracleWorksInTheProject(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	o := inProcess(r)
	checkOracle(t, r, o)
}

// checkOracle holds for the stand-in and for the real CLI.
func checkOracle(t *testing.T, r *rig, o outcome) {
	t.Helper()
	final := "Note 0001 settles the limit; I raised it to six and wrote note 0002."
	if got := o.last()["result"]; got != final {
		t.Errorf("result: got %v, want %q; stderr %s", got, final, o.stderr)
	}
	if o.code != 0 || o.last()["is_error"] != false || o.last()["subtype"] != "success" {
		t.Errorf("ending: exit %d, %v %v", o.code, o.last()["subtype"], o.last()["is_error"])
	}
	if got := r.file("work/relay.rb"); got != "LIMIT = 6\n" {
		t.Errorf("relay.rb: got %q", got)
	}
	if got := r.file("work/notes/0002-new.md"); got != "# Two\n" {
		t.Errorf("new note: got %q", got)
	}
	all := joined(t, o)
	for _, want := range []string{
		`"skill":"tiny:find-note"`, `Launching skill: tiny:find-note`, "notes/0001-limit.md", `1\t# One\n2\tThe limit is small.`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("stream lacks %s", want)
		}
	}
	if strings.Contains(all, `"is_error":true`) {
		t.Errorf("a call failed:\n%s", all)
	}
	sent := r.sent()
	for _, want := range []string{
		"SessionStart hook additional context: " + noteText,
		"Primary working directory: " + r.path("work"),
		"- tiny:find-note: " + findAbout,
	} {
		if !strings.Contains(sent, want) {
			t.Errorf("request lacks %q", want)
		}
	}
	if cost, _ := o.last()["total_cost_usd"].(float64); cost <= 0 {
		t.Errorf("cost: got %v", o.last()["total_cost_usd"])
	}
}

func TestNopFollowsFromTheWording(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hook string
		want string
	}{
		"phrase sent":     {goodHook, "LIMIT = 6\n"},
		"phrase not sent": {"true", "LIMIT = 9\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.hook)
			cells := []harness.Cell{r.session.Cell}
			r.model = fake.NewModel(fake.Wording{Effects: []fake.Effect{{Phrase: "Notes live in", Lift: 1, Cells: cells}}})
			inProcess(r)
			if got := r.file("work/relay.rb"); got != c.want {
				t.Errorf("relay.rb: got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMaxTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	r.more = []string{"--max-turns", "2"}
	checkMaxTurns(t, inProcess(r))
}

func checkMaxTurns(t *testing.T, o outcome) {
	t.Helper()
	last := o.last()
	if o.code != 1 || last["subtype"] != "error_max_turns" || last["terminal_reason"] != "max_turns" || last["is_error"] != true {
		t.Errorf("got exit %d, %v", o.code, last)
	}
	answers := 0
	for _, k := range o.kinds() {
		if strings.HasPrefix(k, "assistant") {
			answers++
		}
	}
	if answers != 2 {
		t.Errorf("answers: got %d, want 2", answers)
	}
	if last["num_turns"] != 3.0 { // one more than the limit, whatever was injected
		t.Errorf("num_turns: got %v, want 3", last["num_turns"])
	}
	if _, ok := last["result"]; ok {
		t.Error("a limit leaves no result text")
	}
}

func TestSkillBodyIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	inProcess(r)
	if second := string(r.bodies[1]); !strings.Contains(second, "Run `note-find WORD`") || !strings.Contains(second, "Launching skill") {
		t.Errorf("second request: %s", second)
	}
}

func TestNumTurnsCountsUserLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	if got := inProcess(r).last()["num_turns"]; got != 8.0 { // six calls, a skill's text, the answer
		t.Errorf("got %v, want 8", got)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	r.more = []string{"--max-budget-usd", "0.000001"}
	if o := inProcess(r); o.code != 1 || o.last()["subtype"] != "error_max_budget_usd" {
		t.Errorf("got exit %d, %v", o.code, o.last())
	}
}

func TestBearerCredential(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	r.env = []string{"ANTHROPIC_API_KEY=", "CLAUDE_CODE_OAUTH_TOKEN=" + key}
	if o := inProcess(r); o.code != 0 {
		t.Errorf("got exit %d, %v", o.code, o.last())
	}
}

func TestNotLoggedIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, goodHook)
	r.env = []string{"ANTHROPIC_API_KEY="}
	o := inProcess(r)
	if o.code != 1 || o.last()["result"] != "Not logged in · Please run /login" || len(r.bodies) != 0 {
		t.Errorf("got exit %d, %v, %d requests", o.code, o.last()["result"], len(r.bodies))
	}
}

// TestCancelledSessionHasNoResult ends the session as soon as a certain line
// is out: that line stays the last.
func TestCancelledSessionHasNoResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hook  string
		fault fake.Fault
		steps []harness.Step
		after string
	}{
		"hook": {"sleep 60", "", nil, `"subtype":"hook_started"`},
		"api":  {goodHook, fake.FaultHang, nil, `"subtype":"init"`},
		"tool": {goodHook, "", []harness.Step{{Bash: "sleep 60"}, {Text: "end"}}, `"name":"Bash"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.hook)
			r.session.Fault = c.fault
			if c.steps != nil {
				r.session.Scenario.Oracle = c.steps
			}
			r.register()
			ctx, cancel := context.WithCancel(t.Context())
			last := ""
			w := writerFunc(func(p []byte) (int, error) {
				if last = string(p); strings.Contains(last, c.after) {
					cancel()
				}
				return len(p), nil
			})
			code := fake.AgentMain(ctx, r.args(), r.environ(), r.path("work"), strings.NewReader("x"), w, io.Discard)
			if code != 143 || !strings.Contains(last, c.after) {
				t.Errorf("got exit %d, last line %s", code, last)
			}
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestKilledAndTerminated(t *testing.T) {
	t.Parallel()
	for fault, want := range map[fake.Fault]int{fake.FaultCrash: 137, fake.FaultTerminate: 143} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, goodHook)
			r.session.Fault = fault
			o := ownProcess(r)
			checkNoResult(t, o, want)
		})
	}
}

func checkNoResult(t *testing.T, o outcome, want int) {
	t.Helper()
	if o.code != want {
		t.Errorf("exit: got %d, want %d; stderr %s", o.code, want, o.stderr)
	}
	kinds := o.kinds()
	if len(kinds) < 4 || kinds[3] != "assistant tool_use Bash" {
		t.Fatalf("lines: got %q, want them to reach the first call", kinds)
	}
	for _, k := range kinds {
		if strings.HasPrefix(k, "result") {
			t.Errorf("a killed session printed %q", k)
		}
	}
}

func TestVersionAndUsage(t *testing.T) {
	t.Parallel()
	base := []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:9"}
	good := newRig(t, goodHook).args()
	for name, c := range map[string]struct {
		args           []string
		env            []string
		code           int
		stdout, stderr string
	}{
		"version":         {[]string{"--version"}, nil, 0, "2.1.332 (Claude Code stand-in)\n", ""},
		"unknown flag":    {[]string{"-p", "--frobnicate"}, base, 1, "", "unknown option '--frobnicate'"},
		"no print":        {[]string{"--model", "m"}, base, 1, "", "no interactive mode"},
		"no verbose":      {[]string{"-p", "--output-format", "stream-json", "--model", "m"}, base, 1, "", "requires --verbose"},
		"bad number":      {[]string{"-p", "--max-turns", "two"}, base, 1, "", "not a number"},
		"missing value":   {[]string{"-p", "--model"}, base, 1, "", "argument missing"},
		"value not taken": {[]string{"-p=1"}, base, 1, "", "takes no argument"},
		"no prompt":       {good, base, 1, "", "Input must be provided"},
		"no base":         {good, nil, 1, "", "needs ANTHROPIC_BASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := fake.AgentMain(t.Context(), c.args, c.env, t.TempDir(), strings.NewReader(""), &stdout, &stderr)
			if code != c.code || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("got exit %d, %q, %q", code, stdout.String(), stderr.String())
			}
		})
	}
}
