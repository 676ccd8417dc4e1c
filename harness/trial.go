package harness

import "time"

// Trial is what came of one spec, with its provenance. It is appended to the
// ledger as it is and never changed.
type Trial struct {
	ID         string    `json:"id"`
	Spec       Spec      `json:"spec"`
	Instrument string    `json:"instrument"`
	Class      Class     `json:"class"`
	Why        string    `json:"why,omitempty"` // what the class rests on, in words
	Result     Result    `json:"result"`
	Started    time.Time `json:"started"`
	// Seconds is the wall time of the session.
	Seconds float64 `json:"seconds"`
	Usage   Usage   `json:"usage"`
	// CostUSD is the list price the CLI reported; nil when it reported none.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	Model   string   `json:"model,omitempty"`
	CLI     string   `json:"cli,omitempty"`
	// Session is the id the CLI gave the session in its init line. No two
	// sessions share one.
	Session string `json:"session,omitempty"`
	// NoteVerified: the note in the stream's hook envelope is this wording's
	// own. Exposed: the gateway saw note and skill descriptions in a request.
	NoteVerified bool `json:"note_verified"`
	Exposed      bool `json:"exposed"`
	// ExpectsNote: the scenario's project should get the note.
	ExpectsNote bool `json:"expects_note"`
	// Isolated names the isolation the session ran under; none for plain.
	Isolation string `json:"isolation"`
	// Transcript is the sha256 of the stored transcript, hex.
	Transcript string `json:"transcript,omitempty"`
	// Lifts is when the limit that stopped the session is over, as the API said;
	// zero where it did not.
	Lifts time.Time `json:"lifts,omitzero"`
	// Quota is what the API said last of the account's allowances.
	Quota *Quota `json:"quota,omitempty"`
	// Fingerprint is how the CLI asked the model, nil when it never did.
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`
	// Served are the models that answered, by the model the CLI asked for, in
	// order of first appearance; nil when none did.
	Served Served `json:"served,omitempty"`
	// Launch is the sha256 of the stored record of the launch, which names the
	// digest of the stored changes, hex.
	Launch string `json:"launch,omitempty"`
	// Judgement is what a judge was asked and said, nil when none was.
	Judgement *Judgement `json:"judgement,omitempty"`
	// Survivors counts processes that outlived the sweep; it must be 0.
	Survivors int `json:"survivors,omitempty"`
}

// Usage is tokens as reported for the whole session.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
}

// Passed reports whether a valid trial passed both axes.
func (t Trial) Passed() bool { return t.Class == Valid && t.Result.Outcome == Pass }
