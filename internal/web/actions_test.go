package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"loopd/internal/campaign"
	"loopd/internal/store"
	"loopd/internal/testenv"
)

// asksFor is a made-up repository that a wording is taken over into.
type asksFor struct {
	told []string
	odd  string // stands behind every name
}

func (a *asksFor) adopt(_ context.Context, name, branch string, unconfirmed bool) (Adoption, error) {
	if branch == "taken" {
		return Adoption{}, errors.New("adopt: the branch taken exists; loopd adopt --branch taken-2")
	}
	if name == "0a1b2c3-2" {
		return Adoption{}, errors.New("adopt 0a1b2c3-2: nothing was promoted: the budget is spent; loopd report")
	}
	if branch != "" {
		a.told = append(a.told, fmt.Sprintf("%s as %s, unconfirmed %v", name, branch, unconfirmed))
	}
	return Adoption{
		Campaign: name, Headline: "promoted: c005" + a.odd, Confirmed: !unconfirmed, Command: "loopd adopt --branch adopt-" + name, Commands: []string{"git merge loopd/0a1b2c3-1/5" + a.odd},
		Written: strings.Repeat("e", 40), Next: "git merge " + branch,
		Adoption: campaign.Adoption{
			Start: wordingOf(0), Champion: wordingOf(5), Head: wordingOf(77), On: "main" + a.odd, Files: []string{"skills/find/SKILL.md" + a.odd}, Moved: []string{"README.md" + a.odd},
			Diff: "--- a/skills/find/SKILL.md\n+++ b/skills/find/SKILL.md\n@@ -1 +1 @@\n-Look.\n+Look first.\n", Manifest: ".claude-plugin/plugin.json", Version: "0.1.0",
		},
	}, nil
}

func TestAdoptFromAPage(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	n := fabricate(t, dir, plan{candidates: 20, budget: 1500})
	if n.state.Ended == nil || len(n.state.Kept) == 0 {
		t.Fatal("nothing was kept")
	}
	o, user := optionsFor(t, dir), asksFor{}
	if text := plainText(openSite(t, o).want("/")); strings.Contains(text, "Adopt…") || !strings.Contains(text, "loopd adopt 0a1b2c3-1") {
		t.Errorf("without a plugin the command alone is shown:\n%s", text)
	}
	o.Adopt = user.adopt
	s := openSite(t, o)
	if body := s.want("/"); !strings.Contains(body, "Adopt…") || !strings.Contains(body, `action="/confirm/adopt"`) {
		t.Errorf("no way to adopt on\n%s", plainText(body))
	}
	page := s.want("/confirm/adopt?campaign=0a1b2c3-1")
	for _, want := range []string{
		"Adopt the wording of 0a1b2c3-1?", "one new branch with one commit", "files, index, HEAD and settings stay as they are", "main is not where the campaign began", "README.md",
		"(now 0.1.0)", "loopd adopt --branch adopt-0a1b2c3-1", "git merge loopd/0a1b2c3-1/5", "Look first",
	} {
		if !strings.Contains(plainText(page), want) {
			t.Errorf("no %q on\n%s", want, plainText(page))
		}
	}
	if len(user.told) > 0 {
		t.Errorf("a look wrote %q", user.told)
	}
	if code, body := s.get("/confirm/adopt?campaign=0a1b2c3-2"); code != http.StatusConflict || !strings.Contains(plainText(body), "nothing was promoted: the budget is spent; loopd report") {
		t.Errorf("nothing to adopt: %d\n%s", code, plainText(body))
	}
	for _, post := range []struct {
		form []string
		code int
		want string
	}{
		{[]string{"campaign", "0a1b2c3-1", "branch", "better"}, http.StatusSeeOther, ""},
		{[]string{"campaign", "0a1b2c3-1", "branch", "taken"}, http.StatusConflict, "the branch taken exists; loopd adopt --branch taken-2"},
		{[]string{"campaign", "0a1b2c3-1", "branch", ""}, http.StatusBadRequest, "needs a name"},
		{[]string{"campaign", "0a1b2c3-1", "branch", "doubtful", "unconfirmed", "yes"}, http.StatusSeeOther, ""},
	} {
		code, body := s.ask(s.request(http.MethodPost, "/do/adopt", s.form(post.form...)))
		if code != post.code || !strings.Contains(plainText(body), post.want) {
			t.Errorf("%v: %d, want %d\n%s", post.form, code, post.code, plainText(body))
		}
	}
	if want := []string{"0a1b2c3-1 as better, unconfirmed false", "0a1b2c3-1 as doubtful, unconfirmed true"}; !slices.Equal(user.told, want) {
		t.Errorf("written: %q", user.told)
	}
	if text := plainText(s.want("/?said=" + url.QueryEscape("wrote branch better"))); !strings.Contains(text, "wrote branch better") {
		t.Errorf("what was done is not said:\n%s", text)
	}
}

func TestVetoFromAPage(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	fabricate(t, dir, plan{candidates: 20, budget: 1500})
	o := optionsFor(t, dir)
	o.Veto = func(ctx context.Context, why string) error {
		return campaign.Veto(ctx, campaign.Home{Dir: dir}, why, func() time.Time { return nightLooked })
	}
	s := openSite(t, o)
	if text := plainText(s.want("/confirm/veto")); !strings.Contains(text, "no later night counts it as promoted") || !strings.Contains(text, "loopd adopt --veto") {
		t.Errorf("before a veto:\n%s", text)
	}
	r := s.request(http.MethodPost, "/do/veto", "reason=no+token")
	if code, _ := s.ask(r); code != http.StatusForbidden {
		t.Errorf("without a token: %d", code)
	}
	busy, err := store.Open(dir)
	testenv.Must(t, err)
	if code, body := s.ask(s.request(http.MethodPost, "/do/veto", s.form("reason", "reads badly"))); code != http.StatusConflict {
		t.Errorf("while somebody writes the ledger: %d\n%s", code, plainText(body))
	}
	testenv.Must(t, busy.Close())
	if code, body := s.ask(s.request(http.MethodPost, "/do/veto", s.form("reason", "reads badly"))); code != http.StatusSeeOther {
		t.Fatalf("%d\n%s", code, plainText(body))
	}
	text := plainText(s.want("/"))
	if !strings.Contains(text, "vetoed by hand: reads badly") || strings.Contains(text, "Take it over") || strings.Contains(text, "Veto…") {
		t.Errorf("after it:\n%s", text)
	}
	for _, again := range []*http.Request{s.request(http.MethodGet, "/confirm/veto", ""), s.request(http.MethodPost, "/do/veto", s.form("reason", "again"))} {
		if code, body := s.ask(again); code != http.StatusConflict || !strings.Contains(plainText(body), "is vetoed already: reads badly") {
			t.Errorf("%s again: %d\n%s", again.Method, code, plainText(body))
		}
	}
}
