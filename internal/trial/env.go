package trial

import (
	"maps"
	"os"
	"slices"
	"strconv"

	"loopd/internal/gateway"
	"loopd/internal/isolate"
)

// values are the values of the names the launch profile lists. Nothing else of
// loopd's own environment reaches a session.
func (e *Executor) values(box *isolate.Box, tap *gateway.Proxy) map[string]string {
	return e.listed(box, tap.Key(), e.o.Gateway.URL().String())
}

// listed are the same values for a session with that key and API.
func (e *Executor) listed(box *isolate.Box, key, api string) map[string]string {
	known := e.known(box, key, api)
	delete(known, e.otherCredential())
	maps.DeleteFunc(known, func(name, _ string) bool { return !slices.Contains(e.o.Suite.Launch.Env, name) })
	return known
}

func (e *Executor) known(box *isolate.Box, key, api string) map[string]string {
	return map[string]string{
		"PATH":                    os.Getenv("PATH"),
		"HOME":                    box.Home,
		"CLAUDE_CONFIG_DIR":       box.Config,
		"TMPDIR":                  box.Tmp,
		"LANG":                    "C.UTF-8",
		"ANTHROPIC_BASE_URL":      api,
		"ANTHROPIC_API_KEY":       key,
		"CLAUDE_CODE_OAUTH_TOKEN": key,
		"DISABLE_AUTOUPDATER":     "1",
		"DISABLE_TELEMETRY":       "1",
		"DISABLE_ERROR_REPORTING": "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY":          "1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS":     "1",
		"CLAUDE_CODE_MAX_RETRIES":                  strconv.Itoa(e.o.Suite.Launch.MaxRetries),
	}
}

// otherCredential is the variable of the kind of credential the user does not
// have: a session is told what its user has, and nothing else.
func (e *Executor) otherCredential() string {
	if e.o.Gateway.Kind() == gateway.HeaderToken {
		return "ANTHROPIC_API_KEY"
	}
	return "CLAUDE_CODE_OAUTH_TOKEN"
}
