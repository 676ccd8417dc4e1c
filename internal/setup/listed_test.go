package setup

import (
	"testing"
	"testing/fstest"

	"loopd/internal/testenv"
)

// A plugin without a manifest is surveyed under the name it is listed by, and told
// first what keeps its sessions from counting. Whether the agent CLI would load it
// is seen by its skills.
func TestReadListed(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		MarketPath:                       {Data: []byte(`{"plugins": [{"name": "gull", "source": "./birds"}, {"name": "tern", "source": "./empty"}]}`)},
		"birds/skills/spot/SKILL.md":     {Data: []byte("---\nname: spot\ndescription: Spots gulls.\n---\nLook up.\n")},
		"birds/skills/wordless/SKILL.md": {Data: []byte("---\nname: wordless\n---\nSay nothing.\n")},
		"empty/skills/README.md":         {Data: []byte("none yet")},
	}
	places, err := Places(fsys)
	if err != nil || len(places) != 2 || !places[0].Tree || places[1].Tree || places[0].Manifest {
		t.Fatalf("got %+v, %v", places, err)
	}
	below, err := fsys.Sub(places[0].Dir)
	testenv.Must(t, err)
	if _, err := Survey(below); err == nil {
		t.Error("a plugin without a manifest is read as one that has it")
	}
	p := SurveyListed(below, places[0].Name)
	if p.Name != "gull" || len(p.Skills) != 2 || p.Skills[0].Name != "spot" || !p.Skills[0].Offered {
		t.Errorf("got %+v", p)
	}
	if len(p.Warnings) == 0 || !p.Warnings[0].Blocks || p.Warnings[0].Where != ManifestPath || p.Warnings[0].Do != `write {"name": "gull"} into it` {
		t.Errorf("warnings are %+v", p.Warnings)
	}
}
