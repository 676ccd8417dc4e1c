package report

import (
	"slices"
	"strings"
	"testing"
)

// A report says what the sessions ran within, and warns where it was nothing.
func TestReportSaysWhatSessionsRanWithin(t *testing.T) {
	t.Parallel()
	st := newStory(t)
	st.begin()
	warned := func() bool {
		return slices.ContainsFunc(Build(st.state).Warnings, func(w string) bool { return strings.Contains(w, "not isolated") })
	}
	if got := Build(st.state).Isolation; got != "bwrap" || warned() {
		t.Errorf("got %q, warned %v, want bwrap and no warning", got, warned())
	}
	st.state.Trials[1].Isolation = "none"
	if got := Build(st.state).Isolation; got != "bwrap, none" || !warned() {
		t.Errorf("got %q, warned %v, want both rungs and a warning", got, warned())
	}
	if !slices.Contains(Build(st.state).Warnings, "1 of 4 sessions were not isolated from the machine: they could read what their user can, and reach the network") {
		t.Errorf("got %q", Build(st.state).Warnings)
	}
	md := Build(st.state).Markdown()
	if !strings.Contains(string(md), "Isolation of the sessions: bwrap, none.") || !strings.Contains(string(md), "1 of 4 sessions were not isolated") {
		t.Errorf("the report does not say so:\n%s", md)
	}
}
