package harness

import (
	"fmt"
)

// Draft says of a scenario that it was imported and that no person has
// confirmed it. ParseScenario refuses such a scenario, so nothing measures by
// it; taking the key out of the file is the confirmation.
type Draft struct {
	Origin Origin `yaml:"origin"`
	// Flags are what a person has to look at.
	Flags []string `yaml:"flags,omitempty"`
	// Questions are statements meant for a judge, as they stood in the suite.
	Questions []string `yaml:"questions,omitempty"`
	// Meta are fields that say something of the case and bind nothing here.
	Meta []SourceField `yaml:"meta,omitempty"`
	// Unmapped are the fields that have no place in a scenario.
	Unmapped []SourceField `yaml:"unmapped,omitempty"`
}

// Origin is where an imported scenario comes from.
type Origin struct {
	Format  string `yaml:"format"`
	File    string `yaml:"file"`              // slash path below what was imported
	Pointer string `yaml:"pointer,omitempty"` // such as /evals/2
	SHA256  string `yaml:"sha256"`            // of what was read there, in hex
}

// SourceField is one field of a source: its place and its value as written,
// lists and maps as JSON.
type SourceField struct {
	Field string `yaml:"field"`
	Value string `yaml:"value"`
}

// ParseDraft reads a scenario file that holds a draft: what is there must be
// sound, and all but id, role and task may be missing. A file without the key
// draft is an error, as is whatever ParseScenario refuses in it.
func ParseDraft(file string, data []byte) (Scenario, error) { return parseScenario(file, data, true) }

// draftError says that a scenario is a draft where none may be, or is none.
func draftError(file string, d *Draft) error {
	if d == nil {
		return fmt.Errorf("read scenario %s: no draft: the key draft is missing", file)
	}
	return fmt.Errorf("read scenario %s: draft: imported and not confirmed: settle what it lists, then take the key out", file)
}
