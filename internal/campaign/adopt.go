package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"loopd/internal/git"
	"loopd/loop"
	"loopd/report"
)

// manifestFile is where a plugin says its version.
const manifestFile = ".claude-plugin/plugin.json"

// Adoption is what taking over a campaign's champion comes to in the user's
// repository. Paths are from the top of it.
type Adoption struct {
	Start    string   `json:"start"`    // commit
	Champion string   `json:"champion"` // commit
	Branch   string   `json:"branch"`   // loopd's own, that names the champion
	Here     bool     `json:"here"`     // the user's repository has that branch
	Private  string   `json:"private"`  // loopd's own repository, which always has it
	Files    []string `json:"files"`    // those the champion has otherwise than the start
	Diff     string   `json:"diff"`     // from start to champion, unified
	Head     string   `json:"head"`     // what the user has checked out
	On       string   `json:"on"`       // the branch of that, empty for none
	// Moved are the files of the plugin that HEAD has otherwise than the start and
	// the champion; with one of Files among them a merge makes wording that was
	// not measured.
	Moved    []string `json:"moved"`
	Adopted  bool     `json:"adopted"`  // HEAD has every one of Files as the champion has
	Manifest string   `json:"manifest"` // file with the plugin's version
	Version  string   `json:"version,omitempty"`
	Raised   bool     `json:"raised"` // HEAD has another version than the start

	user   *git.User
	tree   map[string]git.File // the champion's, from the plugin's place
	subdir string
}

// ReadAdoption compares a champion with its start and with what the user has
// checked out. It needs no lock and writes nothing.
func ReadAdoption(home Home, plugin string, s *loop.State) (Adoption, error) {
	a := Adoption{Start: s.Started.Start, Champion: s.Champion, Private: home.Repo(), Files: []string{}, Moved: []string{}}
	err := a.read(s)
	if err == nil {
		err = a.open(plugin)
	}
	if err != nil {
		return a, fmt.Errorf("read the champion of campaign %s: %w", s.Started.Campaign, err)
	}
	return a, nil
}

// read takes the champion's branch from the record.
func (a *Adoption) read(s *loop.State) error {
	p := s.Find(s.CandidateOf(s.Champion))
	if p == nil {
		return fmt.Errorf("commit %.12s is no candidate's", s.Champion)
	}
	a.Branch = strings.TrimPrefix(p.Ref, git.Branches)
	return nil
}

func (a *Adoption) open(plugin string) error {
	var err error
	if a.user, err = git.OpenUser(plugin); err != nil {
		return err
	}
	a.subdir = a.user.Subdir()
	repo, err := git.OpenPrivate(a.Private)
	if err != nil {
		return err
	}
	w := Wordings{repo: repo, subdir: a.subdir}
	start, err := w.files(a.Start)
	if err != nil {
		return err
	}
	if a.tree, err = w.files(a.Champion); err != nil {
		return err
	}
	at, err := a.user.Ref(git.Branches + a.Branch)
	if err != nil {
		return err
	}
	a.Here = at == a.Champion
	head, err := a.user.Head()
	if err != nil {
		return err
	}
	a.Head, a.On = head.Commit, strings.TrimPrefix(head.Branch, git.Branches)
	now, err := a.user.Tree(head.Commit, a.subdir)
	if err != nil {
		return err
	}
	return a.compare(start, now)
}

// compare fills in what follows from the three trees.
func (a *Adoption) compare(start, now map[string]git.File) error {
	before, after := make(report.Texts), make(report.Texts)
	a.Adopted = true
	for _, name := range slices.Sorted(maps.Keys(a.tree)) {
		if bytes.Equal(start[name].Data, a.tree[name].Data) {
			continue
		}
		full := path.Join(a.subdir, name)
		a.Files = append(a.Files, full)
		before[full], after[full] = string(start[name].Data), string(a.tree[name].Data)
		a.Adopted = a.Adopted && bytes.Equal(now[name].Data, a.tree[name].Data)
	}
	if len(a.Files) == 0 {
		return fmt.Errorf("no file below %q differs from the start", a.subdir)
	}
	a.Diff = report.WordingDiff(before, after)
	for _, name := range slices.Sorted(maps.Keys(union(start, now))) {
		if got := now[name].Data; !bytes.Equal(got, start[name].Data) && !bytes.Equal(got, a.tree[name].Data) {
			a.Moved = append(a.Moved, path.Join(a.subdir, name))
		}
	}
	a.Manifest = path.Join(a.subdir, manifestFile)
	a.Version = versionIn(now[manifestFile].Data)
	a.Raised = a.Version != versionIn(start[manifestFile].Data)
	return nil
}

func union(a, b map[string]git.File) map[string]git.File {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// versionIn reads a manifest's version, empty where it says none.
func versionIn(manifest []byte) string {
	var m struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(manifest, &m) != nil {
		return ""
	}
	return m.Version
}

// RecordAdoption records that a wording was taken over. *ledger.LockedError says
// that a loopd at work holds the ledger: the branch itself then is the record.
func RecordAdoption(ctx context.Context, h Home, a loop.Adopted, now func() time.Time) error {
	return byHand(ctx, Options{Home: h, Now: now}, func(c *Campaign) error { return c.record(ctx, a) })
}

// Write puts the champion's wording on the start as one commit, under a new
// branch of the user's, and returns the commit. Nothing else there changes. The
// same campaign gives the same commit.
func (a Adoption) Write(ctx context.Context, s *loop.State, branch string) (string, error) {
	return a.user.WriteBranch(ctx, git.Commit{
		Base: a.Start, Subdir: a.subdir, Tree: a.tree, Parents: []string{a.Start},
		AuthorName: loopdName, AuthorEmail: loopdEmail, Time: s.EndedAt.Truncate(time.Second), Message: report.AdoptionMessage(s),
	}, branch)
}
