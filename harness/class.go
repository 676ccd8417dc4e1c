package harness

// Class says whether a trial is evidence about the wording, and if not, why.
// The names are one vocabulary: documents, tables, tests and pages use these.
type Class string

// The classes, in the order the validity ladder asks for them.
const (
	Valid            Class = "valid"
	NoOutput         Class = "no_output"
	Startup          Class = "startup"
	Malformed        Class = "malformed"
	Truncated        Class = "truncated"
	Oversize         Class = "oversize"
	NoInit           Class = "no_init"
	VersionDrift     Class = "version_drift"
	WrongModel       Class = "wrong_model"
	StalePlugin      Class = "stale_plugin"
	PluginNotLoaded  Class = "plugin_not_loaded"
	ForeignPlugin    Class = "foreign_plugin"
	ForeignHook      Class = "foreign_hook"
	HookNotDelivered Class = "hook_not_delivered"
	HookTruncated    Class = "hook_truncated"
	NotExposed       Class = "not_exposed"
	Forged           Class = "forged"
	NoResult         Class = "no_result"
	RateLimit        Class = "rate_limit"
	UsageLimit       Class = "usage_limit"
	Overloaded       Class = "overloaded"
	ServerError      Class = "server_error"
	Connection       Class = "connection"
	Auth             Class = "auth"
	Billing          Class = "billing"
	ModelGone        Class = "model_gone"
	OutputLimit      Class = "output_limit"
	Refusal          Class = "refusal"
	Budget           Class = "budget"
	Cancelled        Class = "cancelled"
	AgentError       Class = "agent_error"
	BackgroundKilled Class = "background_killed"
	StartupHang      Class = "startup_hang"
	Hang             Class = "hang"
	Suspended        Class = "suspended"
	DriftedSeal      Class = "drift"
	Contaminated     Class = "contaminated"
	JudgeError       Class = "judge_error"
	OutOfMemory      Class = "oom"
	Disk             Class = "disk"
	Duplicate        Class = "duplicate"
)

// Classes lists the whole vocabulary, valid first.
func Classes() []Class {
	return []Class{
		Valid, NoOutput, Startup, Malformed, Truncated, Oversize, NoInit, VersionDrift, WrongModel, StalePlugin,
		PluginNotLoaded, ForeignPlugin, ForeignHook, HookNotDelivered, HookTruncated, NotExposed, Forged, NoResult,
		RateLimit, UsageLimit, Overloaded, ServerError, Connection, Auth, Billing, ModelGone, OutputLimit, Refusal,
		Budget, Cancelled, AgentError, BackgroundKilled, StartupHang, Hang, Suspended, DriftedSeal, Contaminated,
		JudgeError, OutOfMemory, Disk, Duplicate,
	}
}

// Fate is what the loop does about a class.
type Fate string

// The fates of a trial.
const (
	FateCount Fate = "count" // it is evidence
	FateRetry Fate = "retry" // run the slot again, up to the cap
	FatePause Fate = "pause" // wait for a limit to lift or for room on the disk; not charged to retries
	FateHalt  Fate = "halt"  // a person must act
)

// Fate returns the one action that follows from the class.
func (c Class) Fate() Fate {
	switch c {
	case Valid:
		return FateCount
	case RateLimit, UsageLimit, Disk:
		return FatePause
	case Auth, Billing, ModelGone, Startup, StalePlugin, VersionDrift, DriftedSeal:
		return FateHalt
	default:
		return FateRetry
	}
}

// Lifts reports whether a halt for this class is over once a person has put
// right what is outside the measurement: a login, a bill, a model's name, an
// agent that does not start. What measures is the same afterwards.
func (c Class) Lifts() bool {
	switch c {
	case Auth, Billing, ModelGone, Startup:
		return true
	default:
		return false
	}
}

// BlamesWording reports whether the class may be the wording's own doing: the
// plugin or its hook did not arrive. Several of these in a row break a
// candidate; the same on the champion breaks the instrument.
func (c Class) BlamesWording() bool {
	switch c {
	case PluginNotLoaded, HookNotDelivered, HookTruncated, NotExposed:
		return true
	default:
		return false
	}
}
