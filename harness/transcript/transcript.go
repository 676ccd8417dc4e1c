package transcript

// Transcript is what one session printed, in the order it was printed. Line
// numbers count from 1.
type Transcript struct {
	Lines int // lines of any kind, empty ones not counted
	// Noise counts the lines that are no JSON object; NoiseText keeps the
	// first of them, because a CLI that never started says why in plain text.
	Noise     int
	NoiseText string
	// NULs counts NUL bytes and BadUTF8 lines with bytes that are not UTF-8.
	NULs    int
	BadUTF8 int
	// Unknown counts lines of types this package does not know, by "type" or
	// "system/subtype": a sign of a CLI newer than the recorded one.
	Unknown map[string]int

	Inits     []Init // one a turn; the first is the start of the session
	Hooks     []Hook
	Blocks    []Block
	Retries   []Retry
	Results   []Result
	Synthetic []Synthetic
	Denials   []Denial
	Tasks     []Task
	Limits    []RateLimit
	// Fallbacks are the lines on which the CLI says that another model took
	// over, Refusals those on which it says that the model refused.
	Fallbacks []int
	Refusals  []int

	Damage Damage
}

// Damage is what makes a stream unreadable. A zero number means none.
type Damage struct {
	Malformed int    // the first line that starts like an object and is none
	Truncated int    // the last line, when it was cut
	Oversize  int    // the line at which a limit was reached; nothing after it was read
	Why       string // the first of them in words
}

// Init is what a session says about itself when a turn starts.
type Init struct {
	Line         int
	Session      string
	CWD          string
	Model        string
	Version      string
	Tools        []string
	Skills       []string
	Plugins      []Plugin
	PluginErrors []string
	MCPServers   []string
}

// Plugin is one plugin the session loaded.
type Plugin struct{ Name, Path, Source, Version string }

// Hook is one hook's answer. Output is what the hook printed on standard
// output, which is what the CLI reads its document from.
type Hook struct {
	Line     int
	Name     string // such as SessionStart:startup
	Event    string
	Output   string
	ExitCode int
	Outcome  string
}

// BlockKind is the kind of a content block.
type BlockKind string

// The kinds of block. Injected is text the CLI put in on the user's side, such
// as a skill's body.
const (
	Text       BlockKind = "text"
	Thinking   BlockKind = "thinking"
	ToolUse    BlockKind = "tool_use"
	ToolResult BlockKind = "tool_result"
	Injected   BlockKind = "injected"
)

// Block is one content block of an assistant or user line.
type Block struct {
	Kind    BlockKind
	Line    int
	Message string // message id, empty on the user's side
	Model   string
	// Parent is the tool call that started the subagent which speaks, empty
	// for the main agent.
	Parent string
	// ID is the id of a tool call, or the call a result answers.
	ID    string
	Name  string // tool
	Input []byte // raw JSON of a tool call's input
	Text  string
	// Failed is a result's is_error. Unexecuted says why the CLI did not run
	// the call, empty when it did.
	Failed     bool
	Unexecuted string
}

// Arg returns a string argument of a tool call by its exact name.
func (b Block) Arg(name string) (string, bool) {
	v := value(b.Input).object().get(name)
	return v.text(), v.isString()
}

// Retry is one request the CLI repeated. Status is 0 when no HTTP answer came.
type Retry struct {
	Line, Attempt, Status int
	Error                 string
}

// Result is a result line. A session can have several; the last one decides.
type Result struct {
	Line           int
	Subtype        string
	IsError        bool
	APIErrorStatus int
	TerminalReason string
	StartupFailure string
	NumTurns       int
	HasText        bool
	Text           string
	CostUSD        *float64 // nil when none was reported
	Usage          ModelUsage
	// Models is the cumulative usage of every model the session called.
	Models map[string]ModelUsage
}

// ModelUsage is the tokens of one model.
type ModelUsage struct{ Input, Output, CacheRead, CacheWrite int }

// Synthetic is an assistant line the CLI wrote itself to report a failure.
// Status is 0 when the failure had no HTTP answer.
type Synthetic struct {
	Line   int
	Error  string
	Status int
	Type   string
	Text   string
}

// RateLimit is what the CLI was told of the account's limits with an answer. It
// is evidence of nothing in the session; it says when a limit lifts.
type RateLimit struct {
	Line   int
	Status string // such as allowed or rejected
	Window string // the one the status speaks of, such as five_hour
	// Resets is when that window ends, in seconds since 1970; 0 when not said.
	Resets  int64
	Windows []LimitWindow
}

// LimitWindow is one window of a subscription's allowance.
type LimitWindow struct {
	Name   string  // such as five_hour
	Used   float64 // share of 1
	Resets int64   // seconds since 1970, 0 when not said
}

// Denial is a tool call that permission was refused for.
type Denial struct {
	Line int
	ID   string
	Tool string
}

// Task is a notice about a background command or subagent.
type Task struct {
	Line   int
	ID     string
	Status string
}
