package loop

import "fmt"

// Adopted says that a person took the wording of a campaign over as a branch of
// their own: this campaign's, or that of an earlier one. It changes no number.
type Adopted struct {
	Campaign string `json:"campaign"`
	Branch   string `json:"branch"`
	Commit   string `json:"commit"`
}

// Kind returns the event's name in the ledger.
func (Adopted) Kind() Kind { return KindAdopted }

func (s *State) applyAdopted(p Adopted) error {
	if p.Campaign == "" || p.Branch == "" || p.Commit == "" {
		return fmt.Errorf("apply %s: it names no campaign, branch or commit", p.Kind())
	}
	s.Adopted = append(s.Adopted, p)
	return nil
}
