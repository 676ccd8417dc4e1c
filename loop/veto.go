package loop

import "errors"

// Vetoed says that a person does not want what a campaign promoted or kept,
// whatever its numbers are. It changes none of them.
type Vetoed struct {
	Reason string `json:"reason"`
}

// Kind returns the event's name in the ledger.
func (Vetoed) Kind() Kind { return KindVetoed }

func (s *State) applyVetoed(p Vetoed) error {
	switch {
	case s.Ended == nil || len(s.Kept) == 0:
		return errors.New("apply promotion.vetoed: nothing was kept by a campaign that is over")
	case s.Vetoed != nil:
		return errors.New("apply promotion.vetoed: it was vetoed before")
	}
	s.Vetoed = &p
	return nil
}
