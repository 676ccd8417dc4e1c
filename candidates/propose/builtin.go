package propose

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loopd/candidates"
)

// Builtin is the model that needs no account: it changes the wording by fixed operators, one change at a time, drawn
// by seed and number of the ask. It knows nothing of what the words mean; what it brings is worth a try because most
// wording does nothing, and the shorter of two that do the same is the better one.
type Builtin struct {
	Seed uint64 // of the campaign
}

var _ Model = Builtin{}

// Name of the author under which Builtin's candidates are recorded.
const builtinAuthor = "builtin"

// Propose returns one candidate that passes the lint and whose wording was never tried before, or a *Refusal when the
// operators have nothing left.
func (m Builtin) Propose(ctx context.Context, b Brief) ([]candidates.Candidate, error) {
	once := variants(b)
	if c, ok := m.first(b, once); ok {
		return []candidates.Candidate{c}, ctx.Err()
	}
	// Every single change was tried: two at once, the second on what the first made.
	for _, v := range m.shuffled(b.N, once) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if c, ok := m.first(b, b.after(v)); ok {
			return []candidates.Candidate{c}, nil
		}
	}
	return nil, refuse(Nothing, "every change the operators know was tried")
}

// first returns the first variant in drawn order that may be tried. Most of them
// were, late in a night, and are told by their digest before the lint looks.
func (m Builtin) first(b Brief, all []variant) (candidates.Candidate, bool) {
	surface, base := b.Surface(), b.Base()
	fresh := slices.DeleteFunc(slices.Clone(all), func(v variant) bool {
		next := maps.Clone(base)
		for path, text := range v.texts {
			next[path] = []byte(text)
		}
		return slices.Contains(b.Tried, surface.Digest(next))
	})
	for _, v := range m.shuffled(b.N, fresh) {
		if c := v.candidate(b.Ask); len(b.Lint(c)) == 0 {
			return c, true
		}
	}
	return candidates.Candidate{}, false
}

// shuffled orders variants by a draw for each. The draw goes by what a variant says, so that one more in the list
// leaves the order of the others.
func (m Builtin) shuffled(n int, all []variant) []variant {
	type drawn struct {
		draw uint64
		v    variant
	}
	list := make([]drawn, len(all))
	for i, v := range all {
		list[i] = drawn{m.draw(n, v), v}
	}
	slices.SortStableFunc(list, func(x, y drawn) int {
		switch {
		case x.draw < y.draw:
			return -1
		case x.draw > y.draw:
			return 1
		}
		return 0
	})
	out := make([]variant, len(list))
	for i, d := range list {
		out[i] = d.v
	}
	return out
}

func (m Builtin) draw(n int, v variant) uint64 {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %s %s", m.Seed, n, v.operator, candidates.Digest(v.edits()))
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// variant is one way to change the wording: whole new texts by path.
type variant struct {
	operator string // what was done, such as "delete a sentence"
	where    string
	texts    map[string]string
}

func (v variant) edits() []candidates.Edit {
	var out []candidates.Edit
	for path, text := range v.texts {
		out = append(out, candidates.Edit{Path: path, Whole: &text})
	}
	slices.SortFunc(out, func(a, b candidates.Edit) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func (v variant) candidate(ask Ask) candidates.Candidate {
	return candidates.Candidate{
		Source: candidates.Operator, Author: builtinAuthor, Rationale: v.operator + ": " + v.where, Edits: v.edits(), Simplify: ask == Delete,
	}
}

// after lists the variants of the wording that another made, as changes of the wording of the brief.
func (b Brief) after(first variant) []variant {
	next := b
	next.Wording = slices.Clone(b.Wording)
	for i, f := range next.Wording {
		if text, ok := first.texts[f.Path]; ok {
			next.Wording[i].Text = text
		}
	}
	out := variants(next)
	for i, v := range out {
		for path, text := range first.texts {
			if _, ok := v.texts[path]; !ok {
				v.texts[path] = text
			}
		}
		out[i].operator, out[i].where = first.operator+" and "+v.operator, first.where+" and "+v.where
	}
	return out
}

// variants lists everything the operators make of the wording of a brief. Those of a deletion only take text away.
func variants(b Brief) []variant {
	var out []variant
	for _, f := range b.Wording {
		p := newPage(f)
		list := append(p.deletions(), p.tightened()...)
		if b.Ask != Delete {
			list = append(list, p.swaps()...)
			list = append(list, p.recipes()...)
		}
		for _, r := range list {
			out = append(out, variant{r.operator, f.Path, map[string]string{f.Path: p.with(r.body)}})
		}
	}
	if b.Ask != Delete {
		out = append(out, moves(b.Wording)...)
	}
	return out
}
