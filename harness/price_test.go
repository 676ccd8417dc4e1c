package harness

import "testing"

// Tokens are weighed by what they cost beside one of the input.
func TestEquivalent(t *testing.T) {
	t.Parallel()
	for u, want := range map[Usage]float64{
		{}: 0, {Input: 10}: 10, {CacheWrite: 4}: 5, {CacheRead: 10}: 1, {Output: 2}: 10, {Input: 1, Output: 1, CacheRead: 10, CacheWrite: 4}: 12,
	} {
		if got := u.Equivalent(); got != want {
			t.Errorf("%+v: got %v, want %v", u, got, want)
		}
	}
}
