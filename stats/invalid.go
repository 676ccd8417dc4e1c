package stats

import "fmt"

// invalidLevel is the p-value below which two invalid rates are called unequal.
const invalidLevel = .01

// InvalidRates reports whether the trials of two arms were invalid equally often.
type InvalidRates struct {
	// P is Fisher's exact two-sided p-value for equal rates.
	P float64 `json:"p"`
	// Unequal means that P is below .01, Worse that the candidate then is the one with more. A candidate whose trials
	// are invalid more often broke what delivers the outcome: its counts say nothing.
	Unequal bool `json:"unequal"`
	Worse   bool `json:"worse"`
	// Warnings names the two rates where they are unequal, or says why they could not be compared.
	Warnings []string `json:"warnings,omitempty"`
}

// CompareInvalid compares invalid trials: Pass of each count is the number of invalid ones, N of all.
func CompareInvalid(cand, base Count) InvalidRates {
	q, okQ := cand.Rate()
	p, okP := base.Rate()
	if !okQ || !okP {
		return InvalidRates{P: 1, Warnings: []string{"an arm has no trials to compare invalid rates by"}}
	}
	out := InvalidRates{P: FisherTwoSided(cand, base)}
	if out.Unequal = out.P < invalidLevel; out.Unequal {
		out.Worse = q > p
		out.Warnings = []string{fmt.Sprintf("%d/%d trials of the candidate are invalid beside %d/%d of the champion",
			cand.Pass, cand.N, base.Pass, base.N)}
	}
	return out
}
