package campaign

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/atomicfile"
	"loopd/internal/git"
	"loopd/loop"
)

// EchoWords is how many words in a row a wording may share with a held-out
// task before it counts as an echo of it.
const EchoWords = 5

// loopdName and loopdEmail are the author of every commit made here.
const (
	loopdName  = "loopd"
	loopdEmail = "loopd@localhost"
)

// preparer lints a candidate on top of the champion and commits it.
type preparer struct {
	wordings *Wordings
	repo     *git.Private
	user     *git.User
	suite    harness.Suite
	state    *loop.State
}

var _ loop.Preparer = (*preparer)(nil)

// Prepare returns Committed when the candidate may be tried and Decided when
// the lint refused it. Doing it again after a crash gives the same commit.
func (p *preparer) Prepare(ctx context.Context, champion string, c candidates.Candidate) (loop.Payload, error) {
	made, err := p.prepare(ctx, champion, c)
	return made, held(err)
}

func (p *preparer) prepare(ctx context.Context, champion string, c candidates.Candidate) (loop.Payload, error) {
	findings, err := p.lint(champion, c)
	if err != nil {
		return nil, err
	}
	if len(findings) > 0 {
		return loop.Decided{Candidate: c.ID, Verdict: loop.Reject, Reason: loop.ByLint, Findings: findings}, nil
	}
	made, err := p.commit(champion, c)
	if err != nil {
		return nil, err
	}
	return made, p.user.Publish(ctx, p.repo, made.Commit, made.Ref, "")
}

// CommitAA commits the start's bytes once more on a branch of the private
// repository, by the same way as any candidate: what goes wrong on it shows in
// the A/A pilot. The user's repository has no use for it.
func (p *preparer) CommitAA(_ context.Context, start string) (loop.Committed, error) {
	made, err := p.commit(start, unchanged())
	return made, held(err)
}

// unchanged is the candidate that changes nothing.
func unchanged() candidates.Candidate {
	return candidates.Candidate{ID: loop.SubjectAA, Source: candidates.Operator, Author: "loopd", Rationale: "the start under a second label"}
}

// commit writes the candidate's commit on top of its parent and gives it a
// branch.
func (p *preparer) commit(parent string, c candidates.Candidate) (loop.Committed, error) {
	commit, err := p.write(parent, c)
	if err != nil {
		return loop.Committed{}, err
	}
	atomicfile.Failpoint("prepare.written")
	ref := p.ref(c.ID, commit)
	return loop.Committed{Candidate: c.ID, Commit: commit, Ref: ref, Parent: parent}, p.repo.SetRef(ref, commit, "")
}

// write makes the candidate's commit on top of its parent and returns its hash.
// Nothing but the ledger and the parent goes in, so that a lost commit is made
// again bit for bit.
func (p *preparer) write(parent string, c candidates.Candidate) (string, error) {
	tree, err := p.wordings.Tree(parent)
	if err != nil {
		return "", err
	}
	files, err := p.wordings.files(parent)
	if err != nil {
		return "", err
	}
	base := bytesOf(tree)
	surface := candidates.NewSurface(base, p.suite.Launch.Note.File)
	next, err := surface.Apply(base, c.Edits)
	if err != nil {
		return "", err
	}
	for _, name := range surface.Paths {
		files[name] = git.File{Mode: files[name].Mode, Data: next[name]}
	}
	start := p.state.Started
	return p.repo.WriteCommit(git.Commit{
		Base: start.Start, Subdir: p.wordings.subdir, Tree: files, Parents: []string{parent},
		AuthorName: loopdName, AuthorEmail: loopdEmail, Time: p.state.StartedAt.Truncate(time.Second),
		Message: candidates.Message(c, start.Campaign),
	})
}

func (p *preparer) ref(id, commit string) string { return refOf(p.state.Started.Campaign, id, commit) }

// refOf names the branch of a candidate.
func refOf(campaign, id, commit string) string {
	return git.PublishedPrefix + campaign + "/" + strings.TrimPrefix(id, "c") + "-" + commit[:min(len(commit), 8)]
}

// seen maps the wordings tried so far to the name they were tried under.
func (p *preparer) seen(surface candidates.Surface) (map[string]string, error) {
	known := map[string]string{p.state.Started.Start: "the start"}
	for _, pr := range p.state.Progress {
		if pr.Commit != "" {
			known[pr.Commit] = pr.Candidate.ID
		}
	}
	out := make(map[string]string, len(known))
	for commit, name := range maps.All(known) {
		tree, err := p.wordings.Tree(commit)
		if err != nil {
			return nil, fmt.Errorf("compare with %s: %w", name, err)
		}
		out[surface.Digest(bytesOf(tree))] = name
	}
	return out, nil
}
