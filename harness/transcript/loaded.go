package transcript

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"loopd/harness"
)

const (
	builtinSource = "@builtin"
	inlineSource  = "@inline"
)

// rightCLI compares the version of every turn with the pinned one.
func rightCLI(t *Transcript, w Want, _ External) verdict {
	if !w.Pinned || w.Version == "" {
		return verdict{}
	}
	for _, in := range t.Inits {
		if in.Version != w.Version {
			return no(harness.VersionDrift, in.Line, "the agent CLI says version %q, want %q", in.Version, w.Version)
		}
	}
	return verdict{}
}

// rightModel asks that the pinned model did the main agent's work. Subagents
// may run on another by the CLI's own choice.
func rightModel(t *Transcript, w Want, _ External) verdict {
	if len(t.Fallbacks) > 0 {
		return no(harness.WrongModel, t.Fallbacks[0], "another model took over")
	}
	if !w.Pinned || w.Model == "" {
		return verdict{}
	}
	for _, in := range t.Inits {
		if in.Model != w.Model {
			return no(harness.WrongModel, in.Line, "the session runs %q, want %q", in.Model, w.Model)
		}
	}
	for _, b := range t.Blocks {
		if b.Parent == "" && b.Model != "" && b.Model != w.Model {
			return no(harness.WrongModel, b.Line, "%q answered, want %q", b.Model, w.Model)
		}
	}
	return verdict{}
}

func rightPlugins(t *Transcript, w Want, _ External) verdict {
	for _, in := range t.Inits {
		if len(in.PluginErrors) > 0 {
			return no(harness.PluginNotLoaded, in.Line, "plugin errors: %s", strings.Join(in.PluginErrors, "; "))
		}
		if v := ownPlugin(in, w); v.class != "" {
			return v
		}
		if v := builtinPlugins(in, w); v.class != "" {
			return v
		}
		if len(in.MCPServers) > 0 {
			return no(harness.ForeignPlugin, in.Line, "an MCP server is connected: %s", strings.Join(in.MCPServers, ", "))
		}
	}
	return verdict{}
}

// ownPlugin asks that exactly one plugin is not the CLI's own, and that it is
// ours, read from the copy this trial was given.
func ownPlugin(in Init, w Want) verdict {
	var own []Plugin
	for _, p := range in.Plugins {
		if !strings.HasSuffix(p.Source, builtinSource) {
			own = append(own, p)
		}
	}
	ours := slices.IndexFunc(own, func(p Plugin) bool { return w.Plugin == "" || p.Name == w.Plugin })
	switch {
	case ours < 0:
		return no(harness.PluginNotLoaded, in.Line, "the plugin under test (%s) is not loaded", cmp.Or(w.Plugin, "any"))
	case len(own) > 1:
		return no(harness.ForeignPlugin, in.Line, "%d plugins are loaded beside the CLI's own, want one", len(own))
	case !w.Pinned:
		return verdict{}
	case !strings.HasSuffix(own[ours].Source, inlineSource):
		return no(harness.StalePlugin, in.Line, "plugin %q comes from %q", own[ours].Name, own[ours].Source)
	case w.PluginPath != "" && own[ours].Path != w.PluginPath:
		return no(harness.StalePlugin, in.Line, "plugin %q was read from another directory", own[ours].Name)
	}
	return verdict{}
}

// builtinPlugins compares the CLI's own plugins with the recorded set. One too
// many is foreign; one too few means that this is not the recorded CLI.
func builtinPlugins(in Init, w Want) verdict {
	if !w.Pinned || w.Builtin == nil {
		return verdict{}
	}
	missing := make(map[string]bool)
	for _, name := range w.Builtin {
		missing[strings.TrimSuffix(name, builtinSource)] = true
	}
	known := len(missing)
	for _, p := range in.Plugins {
		if !strings.HasSuffix(p.Source, builtinSource) {
			continue
		}
		if !missing[p.Name] {
			return no(harness.ForeignPlugin, in.Line, "built-in plugin %q is not among the %d recorded", p.Name, known)
		}
		delete(missing, p.Name)
	}
	if len(missing) > 0 {
		names := strings.Join(slices.Sorted(maps.Keys(missing)), ", ")
		return no(harness.VersionDrift, in.Line, "built-in plugins of the recorded CLI are missing: %s", names)
	}
	return verdict{}
}
