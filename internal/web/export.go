package web

import (
	"bytes"
	"context"
)

// fileData is a campaign with all its candidates, on one page.
type fileData struct {
	campaignData
	Candidates []candidateData
}

// File renders a campaign with its candidates as one page that needs nothing else:
// no server, no network. Transcripts are not in it.
func File(ctx context.Context, o Options, name string) ([]byte, error) {
	s := &Server{o: o, store: NewStore(o.Dir)}
	s.mask.suite, s.mask.reveal = o.Suite, o.Reveal
	var err error
	if s.pages, err = parsePages(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	live := s.liveNow(ctx)
	err = s.with(ctx, func(v view) error {
		at, ok := v.campaign(name)
		if !ok {
			return missing("campaign")
		}
		d := fileData{campaignData: s.campaignOf(live, v, at)}
		for _, p := range v.state(at).Progress {
			c := s.candidateOf(v, at, p)
			c.Alone = true
			d.Candidates = append(d.Candidates, c)
		}
		return s.pages.ExecuteTemplate(&out, "file", frame{Title: "Campaign " + d.Report.ID, Made: o.Now(), Alone: true, Page: d})
	})
	return out.Bytes(), err
}
