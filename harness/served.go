package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Served says which models answered, by the model that was asked for. A name may
// come to mean another model overnight: then the same question is answered by a
// model that answered nothing before.
type Served map[string][]string

// Moved names what answers a question now and did not before, none when every
// answer is from a model known from was. What was never asked before says
// nothing.
func (s Served) Moved(was Served) []string {
	var out []string
	for _, asked := range slices.Sorted(maps.Keys(s)) {
		known := was[asked]
		for _, model := range s[asked] {
			if len(known) > 0 && !slices.Contains(known, model) {
				out = append(out, fmt.Sprintf("%s was answered by %s, is answered by %s", asked, strings.Join(known, ", "), model))
			}
		}
	}
	return out
}

// Add notes that a model answered where another was asked for.
func (s Served) Add(asked, model string) {
	if asked != "" && model != "" && !slices.Contains(s[asked], model) {
		s[asked] = append(s[asked], model)
	}
}

// With is s and what was seen beside it.
func (s Served) With(more Served) Served {
	out := make(Served, len(s)+len(more))
	for _, all := range []Served{s, more} {
		for asked, models := range all {
			for _, m := range models {
				out.Add(asked, m)
			}
		}
	}
	return out
}
