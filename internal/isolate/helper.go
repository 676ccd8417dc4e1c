package isolate

import (
	"slices"
	"strings"
)

// HelperName is the first argument of loopd's own program when it is started
// inside the walls to open the way to the gateway.
const HelperName = "start"

// IsHelper reports whether a program was started as the helper: from an
// inherited descriptor, which no user does.
func IsHelper(args []string) bool {
	return len(args) >= 3 && len(args) <= 4 && strings.HasPrefix(args[0], "/proc/self/fd/") && args[1] == HelperName
}

const baseURL = "ANTHROPIC_BASE_URL="

// environInside is the session's environment: the API's address becomes the
// address in the sandbox, and what bwrap added goes.
func environInside(environ []string, url string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, "PWD=") })
	if url == "" {
		return env
	}
	i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, baseURL) })
	if i < 0 {
		return append(env, baseURL+url)
	}
	env[i] = baseURL + url
	return env
}
