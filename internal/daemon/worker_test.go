package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"loopd/internal/admission"
)

// TestWorker_ClosingAtTheEndOrBefore: nothing starts after the end of a shift, or once
// it is drained; without an end the drain alone counts.
func TestWorker_ClosingAtTheEndOrBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &Worker{Gate: admission.NewGate(admission.Options{}), End: began.Add(time.Hour)}
		out, release := s.closing(nil)
		<-out
		if took := time.Since(began); took != time.Hour || !s.past() {
			t.Errorf("closed after %v, want at the end", took)
		}
		release()

		drain := make(chan struct{})
		s.End = time.Now().Add(time.Hour)
		out, release = s.closing(drain)
		close(drain)
		<-out
		if s.past() {
			t.Error("drained counts as the end")
		}
		release()

		s.End = time.Time{}
		if out, release := s.closing(drain); out != (<-chan struct{})(drain) {
			t.Error("without an end another channel was made")
		} else {
			release()
		}
	})
}
