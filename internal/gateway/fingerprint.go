package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"loopd/harness"
)

// deferredList finds the names below the sentence that announces tools loaded on
// demand.
var deferredList = regexp.MustCompile(`(?s)deferred tools are now available[^\n]*\n((?:[A-Za-z0-9_]+(?:\n|$))+)`)

// perSession recognises what is of the day or of one session in a text the CLI
// writes: the digest it sends along with its version, and dates.
var perSession = regexp.MustCompile(`(?m)^x-anthropic-billing-header:.*$|\b20\d\d-\d\d-\d\d\b`)

// fingerprintOf reads the first request of a session that hands tools to the
// model; of any other the fingerprint is zero. own are the texts of the
// wording and the directories of the sandbox, which differ by design, and texts
// those of the request.
func fingerprintOf(body []byte, texts []string, betas string, own []string) (harness.Fingerprint, error) {
	fields := make(map[string]json.RawMessage)
	if err := json.Unmarshal(body, &fields); err != nil {
		return harness.Fingerprint{}, fmt.Errorf("read request: %w", err)
	}
	var system content
	var tools []struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(fields["system"], &system) // a form unknown here has a digest all the same
	_ = json.Unmarshal(fields["tools"], &tools)
	if len(tools) == 0 {
		return harness.Fingerprint{}, nil
	}
	var names, deferred []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	for _, text := range texts {
		for _, m := range deferredList.FindAllStringSubmatch(text, -1) {
			deferred = append(deferred, strings.Fields(m[1])...)
		}
	}
	slices.Sort(deferred)
	rest := make(map[string]json.RawMessage)
	for name, value := range fields {
		if !slices.Contains([]string{"system", "tools", "messages", "metadata", "model"}, name) {
			rest[name] = value
		}
	}
	settings, err := json.Marshal(rest) // in the order of the names
	if err != nil {
		return harness.Fingerprint{}, fmt.Errorf("read request: %w", err)
	}
	clean := neutralised(own)
	f := harness.Fingerprint{
		System: digest(clean(strings.Join(system, "\n"))), Tools: digest(clean(string(fields["tools"]))),
		Deferred: digest(strings.Join(deferred, "\x00")), Betas: digest(betas), Settings: digest(string(settings)),
	}
	f.Names = append(names, deferred...)
	slices.Sort(f.Names)
	return f, nil
}

// neutralised takes out of a text what differs between sessions by design.
func neutralised(own []string) func(string) string {
	own = slices.DeleteFunc(slices.Clone(own), func(s string) bool { return s == "" })
	slices.SortFunc(own, func(a, b string) int { return len(b) - len(a) }) // the longer first, which may hold the shorter
	return func(text string) string {
		for _, s := range own {
			text = strings.ReplaceAll(text, s, "")
			if quoted, err := json.Marshal(s); err == nil {
				text = strings.ReplaceAll(text, string(quoted[1:len(quoted)-1]), "")
			}
		}
		return perSession.ReplaceAllString(text, "")
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
