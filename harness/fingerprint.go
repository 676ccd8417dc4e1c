package harness

import (
	"fmt"
	"slices"
)

// Fingerprint is what the agent CLI itself puts into the first request of a
// session, apart from the wording, the project and the task: short digests by
// part. Two sessions of one tier that differ in a part were not asked in the
// same way, and only the CLI or the machine can be the reason.
type Fingerprint struct {
	System   string `json:"system"`   // the system prompt
	Tools    string `json:"tools"`    // every tool with its description and schema
	Deferred string `json:"deferred"` // names of tools that are loaded on demand
	Betas    string `json:"betas"`    // the API features asked for
	Settings string `json:"settings"` // everything else beside the messages
	// Names of the tools, loaded and on demand, to say what changed.
	Names []string `json:"names"`
}

// IsZero reports whether no request was seen.
func (f Fingerprint) IsZero() bool { return f.System == "" }

// Differ names the parts in which two fingerprints differ, none when they are
// equal.
func (f Fingerprint) Differ(was Fingerprint) []string {
	var out []string
	for _, part := range []struct{ name, was, is string }{
		{"system prompt", was.System, f.System}, {"tools", was.Tools, f.Tools}, {"deferred tools", was.Deferred, f.Deferred},
		{"betas", was.Betas, f.Betas}, {"request settings", was.Settings, f.Settings},
	} {
		if part.was != part.is {
			out = append(out, fmt.Sprintf("%s was %s, is %s", part.name, part.was, part.is))
		}
	}
	for _, name := range f.Names {
		if !slices.Contains(was.Names, name) {
			out = append(out, "tool "+name+" is new")
		}
	}
	for _, name := range was.Names {
		if !slices.Contains(f.Names, name) {
			out = append(out, "tool "+name+" is gone")
		}
	}
	return out
}
