package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/stats"
)

// Diff is what changed from report A to report B of one harness kind: the same for
// campaigns and for evaluators, of which one is set.
type Diff struct {
	Harness   harness.Kind
	Campaigns *CampaignDiff
	Evals     *EvalDiff
	// Regressions names each regression in one line.
	Regressions []string
	// Tables are rows of cells, the heading first. The first table says which two
	// reports were compared, the second is the most important one.
	Tables [][][]string
	// Notes are what has to be known beside the tables, a sentence or two each.
	Notes []string
}

// Document is the comparison as JSON has it: an EvalDiff, or else a CampaignDiff.
func (d Diff) Document() any {
	if d.Evals != nil {
		return *d.Evals
	}
	return *d.Campaigns
}

// IncomparableError says why two reports cannot be compared at all.
type IncomparableError struct{ Why string }

// Error gives the reason.
func (e *IncomparableError) Error() string { return e.Why }

// InstrumentsError says that two reports were measured by different instruments.
type InstrumentsError struct{ Differs []string }

// Error names the parts that differ.
func (e *InstrumentsError) Error() string {
	return "compare reports: measured by different instruments, which differ in " + names(e.Differs)
}

// Compare says what changed from one report to the other. Reports of different
// kinds, and simulated beside real ones, are refused; those of different
// instruments are unless across is set.
func Compare(a, b Document, across bool) (Diff, error) {
	headA, err := a.head()
	if err != nil {
		return Diff{}, err
	}
	headB, err := b.head()
	if err != nil {
		return Diff{}, err
	}
	if headA.Harness != headB.Harness {
		return Diff{}, &IncomparableError{fmt.Sprintf("compare reports: %s is of kind %s, %s of kind %s: kinds are never mixed", a.Name, headA.Harness, b.Name, headB.Harness)}
	}
	compare := compareEvals
	if headA.Harness == harness.Unprompted {
		compare = compareCampaigns
	}
	differs := headA.differs(headB)
	d, err := compare(a, b, differs)
	if err == nil && len(differs) > 0 && !across {
		err = &InstrumentsError{differs}
	}
	if err != nil {
		return Diff{}, err
	}
	d.Harness = headA.Harness
	if len(differs) > 0 {
		d.Notes = slices.Insert(d.Notes, 0, fmt.Sprintf("Measured by different instruments, which differ in %s: a difference may be theirs.", names(differs)))
	}
	return d, nil
}

// differs names the parts of two instruments that are not the same.
func (h head) differs(other head) []string {
	out := []string{}
	if h.Instrument == other.Instrument {
		return out
	}
	parts := make(map[string]string)
	maps.Copy(parts, h.Parts)
	maps.Copy(parts, other.Parts)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if h.Parts[name] != other.Parts[name] {
			out = append(out, plain(name))
		}
	}
	if len(out) == 0 {
		out = append(out, fmt.Sprintf("parts that the reports do not name (%s, %s)", short(plain(h.Instrument)), short(plain(other.Instrument))))
	}
	return out
}

// pair is one thing in both reports; nil where a report does not have it.
type pair[T any] struct{ A, B *T }

// paired finds what two lists have under the same key, in the order of A, then what
// only B has.
func paired[T any](a, b []T, key func(T) string) []pair[T] {
	var out []pair[T]
	at := make(map[string]int)
	for i := range a {
		at[key(a[i])] = len(out)
		out = append(out, pair[T]{A: &a[i]})
	}
	for i := range b {
		if k, known := at[key(b[i])]; known {
			out[k].B = &b[i]
		} else {
			out = append(out, pair[T]{B: &b[i]})
		}
	}
	return out
}

// CountedOn counts one word in both reports, of all there are.
type CountedOn struct {
	Name string `json:"name"`
	A    int    `json:"a"`
	OfA  int    `json:"of_a"`
	B    int    `json:"b"`
	OfB  int    `json:"of_b"`
}

// counted pairs the counts of two reports, sorted by name.
func counted(a, b map[string]int, ofA, ofB int) []CountedOn {
	all := make(map[string]int)
	maps.Copy(all, a)
	maps.Copy(all, b)
	out := []CountedOn{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, CountedOn{plain(name), a[name], ofA, b[name], ofB})
	}
	return out
}

func (r Rate) count() stats.Count { return stats.Count{Pass: r.K, N: r.N} }

// Headline is the comparison in one sentence.
func (d Diff) Headline() string {
	switch n := len(d.Regressions); n {
	case 0:
		return "nothing regressed"
	case 1:
		return "1 regression"
	default:
		return fmt.Sprintf("%d regressions", n)
	}
}

// Text renders the comparison for a page of a width, 0 for a pipe.
func (d Diff) Text(width int) []byte {
	const most = 100 // rows of a table
	return []byte(LayOut(strings.TrimPrefix(d.markdown(most), "# "), width))
}

// Markdown renders the comparison for review in a repository.
func (d Diff) Markdown() []byte { return []byte(d.markdown(math.MaxInt)) }

// markdown shows at most so many rows of a table.
func (d Diff) markdown(most int) string {
	var b strings.Builder
	list := func(lines []string) {
		for _, line := range lines {
			b.WriteString("- " + item(tableCell(line)) + "\n")
		}
	}
	fmt.Fprintf(&b, "# %s\n\n", d.Headline())
	list(d.Regressions)
	for i, rows := range d.Tables {
		if i > 0 || len(d.Regressions) > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(markdownTable(rows[:min(len(rows), most)], tableCell))
		if more := len(rows) - most; more > 0 {
			fmt.Fprintf(&b, "\nand %d more, in --json and --markdown\n", more)
		}
		if i == 0 {
			for _, note := range d.Notes {
				fmt.Fprintf(&b, "\n%s\n", wrap(tableCell(note)))
			}
		}
	}
	return b.String()
}

// Comment renders the comparison as a comment on a pull request, of at most
// 60,000 bytes.
func (d Diff) Comment() []byte {
	c := newComment("diff", string(d.Harness), d.Headline())
	sides := d.Tables[0]
	c.line("From %s to %s:", shown(sides[1][1], commentWord), shown(sides[2][1], commentWord))
	c.b.WriteString(commentTable(d.Tables[1], commentRows) + "\n")
	for _, note := range d.Notes {
		c.line("%s", shown(note, 2*headWord))
	}
	c.fold("Regressions", commentList(d.Regressions, len(d.Regressions)))
	for _, rows := range d.Tables[2:] {
		name := rows[0][0]
		c.fold(strings.ToUpper(name[:1])+name[1:], commentTable(rows, foldedRows))
	}
	return c.bytes("`loopd diff --markdown` has the rest.")
}
