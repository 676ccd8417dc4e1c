package fake_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

// joined is the whole stream as compact JSON.
func joined(t *testing.T, o outcome) string {
	t.Helper()
	var b strings.Builder
	for _, l := range o.lines {
		data, err := json.Marshal(l)
		testenv.Must(t, err)
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}

// notImitated are keys of the real CLI the stand-in leaves out on purpose: a
// socket it does not have, and what depends on a file's state in its context.
func notImitated() []string { return []string{"messaging_socket_path", "contentNotInModelContext"} }

// keySets maps each kind of line to the keys it was seen with, nested ones as
// a path. Keys below tool inputs, patches and model names are not structure.
func keySets(lines []map[string]any) map[string][]string {
	sets := make(map[string]map[string]bool)
	for _, l := range lines {
		k := kind(l)
		if sets[k] == nil {
			sets[k] = make(map[string]bool)
		}
		addKeys(sets[k], "", l)
	}
	out := make(map[string][]string)
	for k, set := range sets {
		out[k] = slices.Sorted(maps.Keys(set))
	}
	return out
}

func addKeys(set map[string]bool, prefix string, m map[string]any) {
	for name, v := range m {
		if slices.Contains(notImitated(), name) {
			continue
		}
		if strings.HasPrefix(name, "claude-") {
			name = "MODEL"
		}
		path := strings.TrimPrefix(prefix+"."+name, ".")
		set[path] = true
		switch v := v.(type) {
		case map[string]any:
			if name != "input" {
				addKeys(set, path, v)
			}
		case []any:
			for _, e := range v {
				if e, ok := e.(map[string]any); ok && name != "structuredPatch" {
					addKeys(set, path+"[]", e)
				}
			}
		}
	}
}

// facts are the values of a stream that classification rests on, line by line.
func facts(lines []map[string]any) []map[string]any {
	var out []map[string]any
	for _, l := range lines {
		f := map[string]any{"kind": kind(l)}
		for _, k := range []string{
			"outcome", "exit_code", "error", "error_status", "attempt", "max_retries", "is_api_error_message", "api_error_status",
			"api_error_type", "api_error", "is_error", "terminal_reason", "stop_reason", "num_turns", "isSynthetic",
			"apiKeySource", "claude_code_version", "model", "permissionMode",
		} {
			if v, ok := l[k]; ok {
				f[k] = v
			}
		}
		out = append(out, f)
	}
	return out
}

// TestKeysAreTheRealOnes compares with streams the real CLI printed in the same
// situations (recorded by TestRealCLI -update).
func TestKeysAreTheRealOnes(t *testing.T) {
	t.Parallel()
	files := testenv.Glob(t, "testdata/real/*.jsonl")
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare, ok := situations()[name]
			if !ok {
				t.Fatalf("no situation %s", name)
			}
			data, err := os.ReadFile(f)
			testenv.Must(t, err)
			real := outcome{lines: parseLines(t, data)}
			r := newRig(t, goodHook)
			prepare(r)
			o := inProcess(r)
			testenv.Same(t, "line kinds (-real +stand-in", real.kinds(), o.kinds())
			testenv.Same(t, "keys (-real +stand-in", keySets(real.lines), keySets(o.lines))
			testenv.Same(t, "facts (-real +stand-in", facts(real.lines), facts(o.lines))
			was, _ := real.last()["total_cost_usd"].(float64)
			is, _ := o.last()["total_cost_usd"].(float64)
			if name != "cut" && math.Abs(was-is) > 1e-12 { // the real CLI charges the broken stream too
				t.Errorf("cost: got %v, real %v", is, was)
			}
		})
	}
}
