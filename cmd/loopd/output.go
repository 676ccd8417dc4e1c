package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"loopd/internal/campaign"
	"loopd/internal/rehearsal"
	"loopd/report"
)

// output is a kind of JSON that loopd prints or writes. Its schema is derived from
// the shape.
type output struct {
	schema string // as the document says it: loopd:KIND/N; another shape, another N
	shape  reflect.Type
	verbs  string // which print it for --json, with commas between
	kept   string // how that goes on: when they do, or the file it is kept in
}

// outputs is all JSON that loopd prints or writes for others to read.
var outputs = []output{
	{report.CampaignSchema, reflect.TypeFor[report.Campaign](), "run, resume, report", ", campaign.json"},
	{report.CandidateSchema, reflect.TypeFor[report.Candidate](), "report, candidate show", ", a candidate's ID.json"},
	{report.DigestSchema, reflect.TypeFor[report.Digest](), "report", " with --digest, digest.json"},
	{"loopd:agreement/1", reflect.TypeFor[report.Agreement](), "report", " with --labels"},
	{report.DiffSchema, reflect.TypeFor[report.CampaignDiff](), "diff", " of campaigns"},
	{report.EvalDiffSchema, reflect.TypeFor[report.EvalDiff](), "diff", " of reports of loopd eval"},
	{report.EvalSchema, reflect.TypeFor[report.EvalDocument](), "eval trace, eval repo", ""},
	{"loopd:status/1", reflect.TypeFor[status](), "status", ""},
	{campaign.GlanceSchema, reflect.TypeFor[keptStatus](), "", "status.json in the state directory"},
	{"loopd:notice/1", reflect.TypeFor[notice](), "", "what a webhook is told"},
	{"loopd:plan/1", reflect.TypeFor[outlook](), "plan", " with a budget"},
	{"loopd:budgets/1", reflect.TypeFor[budgets](), "plan", " without a budget"},
	{"loopd:candidates/1", reflect.TypeFor[candidateList](), "candidate list", ""},
	{"loopd:adoption/1", reflect.TypeFor[adopted](), "adopt", ""},
	{"loopd:rescore/1", reflect.TypeFor[campaign.Rescoring](), "verify rescore", ""},
	{"loopd:rehearsal/1", reflect.TypeFor[rehearsal.Result](), "rehearse", ""},
	{"loopd:rehearsals/1", reflect.TypeFor[manySeeds](), "rehearse", " of several seeds"},
	{"loopd:rehearsal-night/1", reflect.TypeFor[nightResult](), "rehearse", " with --daemon"},
	{"loopd:rehearsal-plan/1", reflect.TypeFor[planned](), "rehearse", " with --print-plan"},
	{"loopd:transcript/1", reflect.TypeFor[readStream](), "scenario transcript", ""},
	{"loopd:cell/1", reflect.TypeFor[cellSession](), "scenario run", ", a line each session"},
	{"loopd:score/1", reflect.TypeFor[scored](), "scenario score", ""},
	{"loopd:selftest/1", reflect.TypeFor[selftestResult](), "selftest", ""},
	{"loopd:judge/1", reflect.TypeFor[judgeResult](), "doctor", " --judge"},
	{"loopd:init/1", reflect.TypeFor[initDone](), "init", ""},
	{"loopd:seal/1", reflect.TypeFor[sealed](), "freeze", ""},
	{"loopd:scenario-new/1", reflect.TypeFor[newlyWritten](), "scenario new", ""},
	{"loopd:scenario-lint/1", reflect.TypeFor[linted](), "scenario lint", ""},
	{"loopd:scenario-import/1", reflect.TypeFor[importedDocument](), "scenario import", ""},
	{"loopd:scenario-export/1", reflect.TypeFor[exportedDocument](), "scenario export", ""},
	{"loopd:graph/1", reflect.TypeFor[graphWay](), "freeze graph check", ""},
	{"loopd:graphs/1", reflect.TypeFor[builtGraphs](), "freeze graph build", ""},
	{"loopd:sandbox/1", reflect.TypeFor[laidOut](), "scenario lay", ""},
	{"loopd:capture/1", reflect.TypeFor[capturedState](), "eval capture", ""},
	{"loopd:login/1", reflect.TypeFor[stored](), "login", ""},
	{"loopd:doctor/1", reflect.TypeFor[examined](), "doctor", ""},
	{"loopd:verify/1", reflect.TypeFor[campaign.Found](), "verify", ""},
	{"loopd:verify-ledger/1", reflect.TypeFor[audited](), "verify", " with --state"},
	{"loopd:verify-export/1", reflect.TypeFor[campaign.Exported](), "verify", " with --export"},
	{"loopd:prune/1", reflect.TypeFor[campaign.Pruned](), "prune", ""},
	{"loopd:config/1", reflect.TypeFor[inForce](), "config", ""},
	{"loopd:simulation/1", reflect.TypeFor[simulated](), "plan", " with --simulate"},
	{"loopd:simulation-null/1", reflect.TypeFor[nullResult](), "plan", " with --simulate --checks null"},
	{"loopd:version/1", reflect.TypeFor[versions](), "version", ""},
}

// keptStatus is campaign.Glance with what this program keeps in it.
type keptStatus struct {
	Schema string `json:"schema"`
	Seq    int64  `json:"seq"` // of the ledger's newest event then
	Look   status `json:"look"`
}

// of says what the document is of, in a few words.
func (o output) of() string {
	return strings.TrimLeft(o.verbs+o.kept, ", ")
}

// text derives the JSON Schema (draft 2020-12) of the document from its type.
func (o output) text() ([]byte, error) {
	s, err := jsonschema.ForType(o.shape, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}})
	if err != nil {
		return nil, fmt.Errorf("derive the schema of %s: %w", o.schema, err)
	}
	nullable(o.shape, s)
	s.Schema, s.ID, s.Title = "https://json-schema.org/draft/2020-12/schema", o.schema, o.of()
	if s.Properties["schema"] == nil {
		s.PropertyOrder, s.Required = append([]string{"schema"}, s.PropertyOrder...), append([]string{"schema"}, s.Required...)
	}
	s.Properties["schema"] = &jsonschema.Schema{Const: jsonschema.Ptr[any](o.schema)}
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// nullable says of maps what the library says of lists alone: that one which is
// not set is null, and that one which is left out where it is empty never is.
func nullable(t reflect.Type, s *jsonschema.Schema) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			nullable(t.Elem(), s.Items)
		}
	case reflect.Map:
		s.Type, s.Types = "", []string{"null", "object"}
		nullable(t.Elem(), s.AdditionalProperties)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			p := s.Properties[name]
			if p == nil {
				continue
			}
			nullable(f.Type, p)
			if options != "" && len(p.Types) > 0 {
				p.Type, p.Types = p.Types[1], nil
			}
		}
	}
}

// marshal writes a document on one line, its schema first. What is of no kind
// that has a schema is not written.
func marshal(v any) ([]byte, error) {
	i := slices.IndexFunc(outputs, func(o output) bool { return o.shape == reflect.TypeOf(v) })
	if i < 0 {
		return nil, fmt.Errorf("print result: %T has no schema", v)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("print result: %w", err)
	}
	if bytes.HasPrefix(b.Bytes(), []byte(`{"schema":`)) {
		return b.Bytes(), nil
	}
	return append([]byte(`{"schema":`+strconv.Quote(outputs[i].schema)+","), b.Bytes()[1:]...), nil
}

// printJSON writes one indented document.
func printJSON(w io.Writer, v any) error {
	data, err := marshal(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}
