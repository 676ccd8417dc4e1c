package harness

import "time"

// Quota is how much of a subscription's allowances is used, as the API said last.
// An account that pays by the token has none.
type Quota struct {
	FiveHour Allowance `json:"5h,omitzero"`
	SevenDay Allowance `json:"7d,omitzero"`
	At       time.Time `json:"at,omitzero"` // when it was said
}

// Allowance is one window of a quota. Zero is unknown.
type Allowance struct {
	Used   float64   `json:"used"` // share of 1
	Resets time.Time `json:"resets,omitzero"`
}

// IsZero reports whether nothing is known.
func (q Quota) IsZero() bool { return q.At.IsZero() }
