package campaign

// BaseMoved says whether the user's HEAD is another commit than the one the newest
// campaign began with, and which. Candidates are not moved along: their numbers
// are about the wording they were laid on.
func (c *Campaign) BaseMoved() (head string, moved bool) {
	now, err := c.user.Head()
	s := c.Current()
	if err != nil || s == nil {
		return "", false
	}
	return now.Commit, now.Commit != s.Started.Base
}
