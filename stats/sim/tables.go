package sim

import "context"

// DecisionFigure is what one procedure does with candidates of one effect.
type DecisionFigure struct {
	Procedure string  `json:"procedure"`
	Effect    string  `json:"effect"`
	Kept      float64 `json:"kept_percent"`
	Margin    float64 `json:"margin"`
	Sessions  float64 `json:"sessions"`
}

// CampaignFigure is what one procedure comes to over campaigns.
type CampaignFigure struct {
	Procedure string     `json:"procedure"`
	Stream    StreamName `json:"stream"`
	Budget    int        `json:"budget"`
	Gain      float64    `json:"gain"`
	Margin    float64    `json:"margin"`
	// The next are percentages of the campaigns, FalseKeeps one of the keeps.
	NotBetter  float64 `json:"not_better_percent"`
	Worse      float64 `json:"worse_percent"`
	Collapsed  float64 `json:"collapsed_percent"`
	FalseKeeps float64 `json:"false_keeps_percent"`
	Sessions   float64 `json:"sessions"`
}

// procedure is a row of the tables per decision.
type procedure struct {
	name    string
	rule    Rule
	setting Setting
}

func procedures() []procedure {
	twoArm := Setting{Pilot: 4, Threshold: 20, Cap: 1500}
	open := Setting{Pilot: 2, Pool: 6, Threshold: 5, Eta: .20, Cap: 250}
	certify := Setting{Pilot: 2, Pool: 20, Threshold: 20, Eta: .10, Cap: 500, Guard: true}
	return []procedure{
		{"greedy, 1 rep", Greedy1, Setting{}},
		{"greedy, 3 reps", Greedy3, Setting{}},
		{"fixed CMH, 17 reps, fresh champion", CMHFresh, Setting{}},
		{"fixed CMH, 17 reps, champion reused", CMHReused, Setting{}},
		{"GSPRT, block variance", Fishtest, Setting{}},
		{"GSPRT, stratified variance", GSPRT, Setting{}},
		{"stratified safe test, E >= 20, futility", SafeTest, Setting{}},
		{"posterior > .95, two arms, futility", Bayes, Setting{Pilot: 4, Eta: bayesEta, Cap: bayesCap}},
		{"posterior > .95, pool 6, futility", Bayes, Setting{Pilot: 2, Pool: 6, Eta: bayesEta, Cap: bayesCap}},
		{"ours, two arms, E >= 20, no futility", OwnRule, twoArm},
		{"ours, two arms, E >= 5, futility", OwnRule, Setting{Pilot: 4, Threshold: 5, Eta: .30, Cap: 250}},
		{"ours, pool 6, E >= 5, eta .2", OwnRule, open},
		{"ours, pool 6, E >= 5, eta .3, guard (default)", OwnRule, DefaultSetting()},
		{"ours, pool 20, E >= 20, eta .1, guard", OwnRule, certify},
	}
}

// DecisionTable plays every procedure on every effect.
func DecisionTable(ctx context.Context, o BenchOptions) ([]DecisionFigure, error) {
	b := newBench(ctx, o)
	var out []DecisionFigure
	for _, p := range procedures() {
		for _, effect := range truths() {
			d := DetectBy(ctx, p.rule, b.source(SeedGrid), effect, p.setting, b.runs(decisionRuns), o.Options)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			kept, margin := percent(d.Kept)
			out = append(out, DecisionFigure{p.name, effect.String(), kept, margin, d.Sessions.Mean()})
		}
		if o.Done != nil {
			o.Done(p.name)
		}
	}
	return out, nil
}

// searcher is a row of the table per campaign.
type searcher struct {
	name  string
	plan  func(budget int) Plan
	small bool // worth a look at small budgets
}

func searchers() []searcher {
	rule := func(r Rule, gated bool) func(int) Plan {
		return func(budget int) Plan { return against(r, budget, gated) }
	}
	profile := func(p Profile) func(int) Plan {
		return func(budget int) Plan { return DefaultPlan(p, budget) }
	}
	return []searcher{
		{"greedy, 1 rep", rule(Greedy1, false), false},
		{"greedy, 1 rep, gate", rule(Greedy1, true), true},
		{"greedy, 3 reps", rule(Greedy3, false), false},
		{"greedy, 3 reps, gate", rule(Greedy3, true), true},
		{"fixed CMH, fresh champion", rule(CMHFresh, false), false},
		{"fixed CMH, champion reused", rule(CMHReused, false), false},
		{"GSPRT, stratified variance", rule(GSPRT, false), false},
		{"stratified safe test, futility", rule(SafeTest, false), false},
		{"posterior > .95, pool, futility", rule(Bayes, false), false},
		{"ours, two arms, gate", rule(TwoArm, true), false},
		{"ours, fast", profile(Fast), true},
		{"ours, strict", profile(Strict), false},
		{"ours, certified, no gate", func(budget int) Plan {
			p := DefaultPlan(Certified, budget)
			p.NoGate = true
			return p
		}, false},
		{"ours, scout", profile(Scout), true},
	}
}

// budgets are the columns of the table per campaign; the streams other than the standard one come at the middle one.
func (s searcher) columns() (out []column) {
	if s.small {
		for _, budget := range []int{300, 400, 700} {
			out = append(out, column{StandardStream, budget})
		}
	}
	for _, budget := range []int{1000, 2000, 4000} {
		out = append(out, column{StandardStream, budget})
	}
	for _, stream := range []StreamName{SlightStream, NullStream, MixedStream} {
		out = append(out, column{stream, 2000})
	}
	return out
}

type column struct {
	stream StreamName
	budget int
}

// CampaignTable plays every procedure over campaigns.
func CampaignTable(ctx context.Context, o BenchOptions) ([]CampaignFigure, error) {
	b := newBench(ctx, o)
	var out []CampaignFigure
	for _, s := range searchers() {
		for _, c := range s.columns() {
			sum := b.play(c.stream, 0, s.plan(c.budget), nightRuns)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			out = append(out, campaignFigure(s.name, c, sum))
		}
		if o.Done != nil {
			o.Done(s.name)
		}
	}
	return out, nil
}

func campaignFigure(name string, c column, sum Campaigns) CampaignFigure {
	f := CampaignFigure{
		Procedure: name, Stream: c.stream, Budget: c.budget, Gain: sum.Gain.Mean(), Margin: halfWidth * sum.Gain.SE(), Sessions: sum.Sessions.Mean(),
	}
	f.NotBetter, _ = percent(sum.NotBetter)
	f.Worse, _ = percent(sum.Worse)
	f.Collapsed, _ = percent(sum.Collapsed)
	f.FalseKeeps, _ = percent(sum.FalseKeeps)
	return f
}
