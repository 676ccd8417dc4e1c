package gateway

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// firstRequest is a first request as the CLI sends it, and its parts by which one
// differs from another.
type firstRequest struct {
	system, dir, note, tool, description, deferred, betas, task string
	maxTokens                                                   int
}

func plainRequest() firstRequest {
	return firstRequest{
		system: "You help with code. It is 2026-01-05.", dir: "/tmp/a1/work", note: note, tool: "Bash", description: description,
		deferred: "WebFetch\nMonitor", betas: "one,two", task: "Rename it.", maxTokens: 100,
	}
}

func (r firstRequest) fingerprint(t *testing.T) harness.Fingerprint {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"model": "model-5", "max_tokens": r.maxTokens, "metadata": map[string]any{"user_id": r.dir},
		"system": []any{map[string]any{"type": "text", "text": "x-anthropic-billing-header: cc_version=1.2.3." + r.task}, map[string]any{"type": "text", "text": r.system + " You are in " + r.dir}},
		"tools":  []any{map[string]any{"name": r.tool, "description": "Runs in " + r.dir}, map[string]any{"name": "Skill", "description": "Knows: " + r.description}},
		"messages": []any{
			map[string]any{"role": "user", "content": r.task},
			map[string]any{"role": "system", "content": r.note + "\nThe following deferred tools are now available via ToolSearch:\n" + r.deferred + "\n\nSkills: " + r.description},
		},
	})
	testenv.Must(t, err)
	read, err := parseRequest(data)
	testenv.Must(t, err)
	f, err := fingerprintOf(data, read.texts(), r.betas, []string{r.dir, r.note, r.description})
	testenv.Must(t, err)
	return f
}

// TestFingerprint: wording, project, task and date leave it alone, and every
// part of what the CLI adds is named when it changes.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	base := plainRequest().fingerprint(t)
	if base.IsZero() || !slices.Equal(base.Names, []string{"Bash", "Monitor", "Skill", "WebFetch"}) {
		t.Fatalf("fingerprint %+v, want one with the four tools", base)
	}
	for name, change := range map[string]func(*firstRequest){
		"wording": func(r *firstRequest) { r.note, r.description = "Another \"note\" <b>.", "Another\ndescription." },
		"sandbox": func(r *firstRequest) { r.dir = "/tmp/b2/work" },
		"task":    func(r *firstRequest) { r.task = "Remove it." },
		"day":     func(r *firstRequest) { r.system = "You help with code. It is 2026-01-06." },
		"order":   func(r *firstRequest) { r.deferred = "Monitor\nWebFetch" },
	} {
		r := plainRequest()
		change(&r)
		if got := r.fingerprint(t).Differ(base); len(got) > 0 {
			t.Errorf("%s: %v, want no difference", name, got)
		}
	}
	for want, change := range map[string]func(*firstRequest){
		"system prompt":    func(r *firstRequest) { r.system += " Be brief." },
		"tool Grep is new": func(r *firstRequest) { r.tool = "Grep" },
		"tool Bash is gone": func(r *firstRequest) {
			r.tool = "Grep"
		},
		"deferred tools":   func(r *firstRequest) { r.deferred = "WebFetch" },
		"betas":            func(r *firstRequest) { r.betas = "one,three" },
		"request settings": func(r *firstRequest) { r.maxTokens = 99 },
	} {
		r := plainRequest()
		change(&r)
		if got := strings.Join(r.fingerprint(t).Differ(base), "; "); !strings.Contains(got, want) {
			t.Errorf("%s: got %q", want, got)
		}
	}
	if f, err := fingerprintOf([]byte(`{"messages":[]}`), nil, "", nil); err != nil || !f.IsZero() {
		t.Errorf("no tools: %+v, %v, want no fingerprint", f, err)
	}
	if _, err := fingerprintOf([]byte(`{`), nil, "", nil); err == nil {
		t.Error("half a request: no error")
	}
}
