package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// MarketPath is where a marketplace lists its plugins.
const MarketPath = ".claude-plugin/marketplace.json"

// Place is a plugin that a repository has or names.
type Place struct {
	Name string `json:"name"`
	Dir  string `json:"dir"` // below the repository; empty where it is elsewhere
	// Manifest: the directory has a plugin.json of its own. Without one the plugin
	// has its name of the marketplace alone.
	Manifest bool `json:"manifest"`
	// Tree: it has none, and skills/NAME/SKILL.md, which the agent CLI loads all the
	// same.
	Tree bool `json:"tree,omitempty"`
	// Source is the kind of source of a plugin that is elsewhere.
	Source string `json:"source,omitempty"`
	// Fault says why the entry leads to no plugin.
	Fault string `json:"fault,omitempty"`
}

// Places lists the plugins of a repository: that of its root, and those of its
// marketplace in their order. It is ErrNoPlugin where there is neither.
func Places(fsys fs.FS) ([]Place, error) {
	own, err := readManifest(fsys)
	if err != nil && !errors.Is(err, ErrNoPlugin) {
		return nil, err
	}
	var out []Place
	if err == nil {
		out = append(out, Place{Name: own.Name, Dir: ".", Manifest: true})
	}
	data, marketErr := read(fsys, MarketPath)
	switch {
	case errors.Is(marketErr, fs.ErrNotExist):
		return out, err
	case marketErr != nil:
		return nil, fmt.Errorf("%s: %w", MarketPath, marketErr)
	}
	listed, marketErr := market(fsys, data)
	if marketErr != nil {
		return nil, fmt.Errorf("%s: %w", MarketPath, marketErr)
	}
	for _, p := range listed {
		if known := slices.ContainsFunc(out, func(o Place) bool { return p.Manifest && o.Manifest && o.Dir == p.Dir }); !known {
			out = append(out, p)
		}
	}
	return out, nil
}

func market(fsys fs.FS, data []byte) ([]Place, error) {
	var doc struct {
		Metadata struct {
			PluginRoot string `json:"pluginRoot"`
		} `json:"metadata"`
		Plugins []struct {
			Name   string          `json:"name"`
			Source json.RawMessage `json:"source"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal(trimMark(data), &doc); err != nil {
		return nil, errors.New(jsonReason(err))
	}
	if len(doc.Plugins) == 0 {
		return nil, errors.New("plugins: empty")
	}
	var out []Place
	for i, entry := range doc.Plugins {
		if entry.Name == "" || !goodName(entry.Name) {
			return nil, fmt.Errorf("plugins: entry %d: %q is no name", i+1, printable(entry.Name))
		}
		p := Place{Name: entry.Name}
		if err := p.find(fsys, doc.Metadata.PluginRoot, entry.Source); err != nil {
			p.Fault = err.Error()
		}
		out = append(out, p)
	}
	return out, nil
}

// find reads a source: a path within the repository, or a place elsewhere.
func (p *Place) find(fsys fs.FS, root string, source json.RawMessage) error {
	var name string
	if json.Unmarshal(source, &name) != nil {
		var far struct {
			Source string `json:"source"`
		}
		if err := json.Unmarshal(source, &far); err != nil || far.Source == "" {
			return errors.New("source: neither a path nor a place")
		}
		p.Source = printable(far.Source)
		return nil
	}
	if !strings.HasPrefix(name, ".") {
		name = path.Join(root, name)
	}
	dir := path.Clean(name)
	if !fs.ValidPath(dir) {
		return fmt.Errorf("source: %q is no path below the repository", printable(name))
	}
	if !isDir(fsys, dir) {
		return fmt.Errorf("source: no directory %s", printable(dir))
	}
	p.Dir = dir
	below, err := fs.Sub(fsys, dir)
	if err != nil {
		return err
	}
	if m, err := readManifest(below); err == nil {
		p.Name, p.Manifest = m.Name, true
	} else if !errors.Is(err, ErrNoPlugin) {
		return fmt.Errorf("%s: %w", dir, err)
	} else if skills, err := fs.Glob(below, "skills/*/SKILL.md"); err == nil {
		p.Tree = len(skills) > 0
	}
	return nil
}
