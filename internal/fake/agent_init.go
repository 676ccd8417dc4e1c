package fake

// builtinPlugins are the plugins the pinned CLI always loads.
func builtinPlugins() []string {
	return []string{"cc-plugin-agents-md", "cc-plugin-privacy", "cc-plugin-plugin-authoring"}
}

type pluginEntry struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Source  string `json:"source"`
	Version string `json:"version,omitempty"`
}

// initLine describes the session before its first request.
type initLine struct {
	Type                  string        `json:"type"`
	Subtype               string        `json:"subtype"`
	Cwd                   string        `json:"cwd"`
	SessionID             string        `json:"session_id"`
	Tools                 []string      `json:"tools"`
	MCPServers            []string      `json:"mcp_servers"`
	Model                 string        `json:"model"`
	PermissionMode        string        `json:"permissionMode"`
	SlashCommands         []string      `json:"slash_commands"`
	TerminalSlashCommands []string      `json:"terminal_slash_commands"`
	APIKeySource          string        `json:"apiKeySource"`
	Version               string        `json:"claude_code_version"`
	OutputStyle           string        `json:"output_style"`
	Agents                []string      `json:"agents"`
	Skills                []string      `json:"skills"`
	Plugins               []pluginEntry `json:"plugins"`
	PluginErrors          []pluginError `json:"plugin_errors,omitempty"`
	Capabilities          []string      `json:"capabilities"`
	AnalyticsDisabled     bool          `json:"analytics_disabled"`
	FeedbackDisabled      bool          `json:"product_feedback_disabled"`
	ServedByAnthropic     bool          `json:"served_by_anthropic"`
	UUID                  string        `json:"uuid"`
	SandboxEnabled        bool          `json:"sandbox_enabled"`
	OriginalCwd           string        `json:"original_cwd"`
	AdditionalDirectories []string      `json:"additional_directories"`
	FastModeState         string        `json:"fast_mode_state"`
	FastModeReason        string        `json:"fast_mode_disabled_reason"`
	PerTurnEffort         bool          `json:"per_turn_effort_active"`
	Ultrathink            bool          `json:"ultrathink_available"`
	UltrathinkRaises      bool          `json:"ultrathink_typed_raises"`
	ViewMode              string        `json:"view_mode"`
}

func (s *session) initLine() initLine {
	skills := []string{}
	for _, k := range s.plugin.skills {
		skills = append(skills, k.name)
	}
	tools := []string{}
	for _, t := range s.tools() {
		tools = append(tools, t.name)
	}
	none := []string{}
	l := initLine{
		Type: "system", Subtype: "init", Cwd: s.dir, SessionID: s.id, Tools: tools, MCPServers: none, Model: s.opt.model,
		PermissionMode: "bypassPermissions", SlashCommands: skills, TerminalSlashCommands: none,
		APIKeySource: s.client.source(), Version: AgentVersion, OutputStyle: "default", Agents: none, Skills: skills,
		Plugins: s.plugins(), PluginErrors: s.plugin.errors, Capabilities: none, AnalyticsDisabled: true,
		FeedbackDisabled: true, UUID: s.out.uuid(), OriginalCwd: s.dir, AdditionalDirectories: none,
		FastModeState: "off", FastModeReason: "sdk_opt_in_required", ViewMode: "default",
	}
	s.fault.untrue(&l)
	return l
}

func (s *session) plugins() []pluginEntry {
	var out []pluginEntry
	if p := s.plugin; p.name != "" {
		out = append(out, pluginEntry{p.name, p.root, p.name + "@inline", p.version})
	}
	for _, name := range builtinPlugins() {
		out = append(out, pluginEntry{Name: name, Path: "builtin", Source: name + "@builtin"})
	}
	return out
}
