package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"maps"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/hint"
	"loopd/internal/trial"
)

func newTranscript(e env) *cobra.Command {
	var note string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "transcript FILE", Short: "read a session's stream-json and say whether it is evidence", Args: oneArg("file"),
		Long: "  loopd scenario transcript trials/0a1b2c3d4e5f6071/transcript.jsonl\n\nPrints the class of the session, what it rests on, the tool calls and the final\ntext. An exit.json beside the file tells how the process ended. With --note, a session\nwhose hook did not deliver that text is hook_not_delivered.",
		RunE: func(_ *cobra.Command, args []string) error { return runTranscript(e, args[0], note, asJSON) },
	}
	cmd.Flags().StringVar(&note, "note", "", "file with the text the hook should have delivered, - for standard input")
	flagJSON(cmd, &asJSON)
	return cmd
}

// readStream is the JSON of the verb.
type readStream struct {
	File         string             `json:"file"`
	Valid        bool               `json:"valid"`
	Class        harness.Class      `json:"class"`
	Why          string             `json:"why,omitempty"`
	NoteVerified bool               `json:"note_verified"`
	Evidence     []harness.Evidence `json:"evidence"`
	Model        string             `json:"model,omitempty"`
	CLI          string             `json:"cli,omitempty"`
	Lines        int                `json:"lines"`
	Noise        int                `json:"noise"`
	Retries      int                `json:"retries"`
	ToolUses     []toolUse          `json:"tool_uses"`
	Usage        harness.Usage      `json:"usage"`
	Equivalent   float64            `json:"cost_equivalent_tokens"`
	CostUSD      *float64           `json:"cost_usd"`
	FinalText    string             `json:"final_text"`
	Unknown      map[string]int     `json:"unknown"` // lines of types this version does not know
}

type toolUse struct {
	Line     int                   `json:"line"`
	ID       string                `json:"id"`
	Name     string                `json:"name"`
	Input    json.RawMessage       `json:"input"`
	Status   transcript.CallStatus `json:"status"`
	Subagent bool                  `json:"subagent"`
}

func runTranscript(e env, file, note string, asJSON bool) error {
	t, ext, err := readTranscript(e, file)
	if err != nil {
		return err
	}
	var want transcript.Want
	if note != "" {
		data, err := readArg(e, note)
		if err != nil {
			return hint.New(hint.Usage, fmt.Errorf("read note: %w", err), "loopd scenario transcript --help")
		}
		want.Note, want.NoteText = harness.NoteFile, strings.TrimSuffix(string(data), "\n")
	}
	out := describeStream(file, t, transcript.Validity(t, want, ext))
	if asJSON {
		return printJSON(e.stdout, out)
	}
	return printStream(e, out, note != "")
}

// readTranscript reads a stream and the exit.json beside it, if there is one.
func readTranscript(e env, file string) (*transcript.Transcript, transcript.External, error) {
	file = e.Path(file)
	var ext transcript.External
	f, err := os.Open(file)
	if gone := trial.Pruned(filepath.Dir(file)); err != nil && gone != nil {
		return nil, ext, hint.Usagef("loopd report", "read transcript %s: %w; its row and digests are in the ledger", file, gone)
	}
	if err != nil {
		return nil, ext, hint.New(hint.Usage, fmt.Errorf("read transcript: %w", err), "loopd scenario transcript --help")
	}
	defer f.Close()
	t, err := transcript.Parse(bufio.NewReaderSize(f, 1<<20), transcript.Limits{})
	if err != nil {
		return nil, ext, hint.New(hint.Usage, fmt.Errorf("read transcript %s: %w", file, err), "loopd scenario transcript --help")
	}
	var exit struct {
		Code int `json:"exit_code"`
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(file), "exit.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, ext, nil
	case err != nil:
		return nil, ext, fmt.Errorf("read how the session ended: %w", err)
	}
	if err := json.Unmarshal(data, &exit); err != nil {
		return nil, ext, hint.New(hint.Usage, fmt.Errorf("read exit.json beside %s: %w", file, err), "loopd scenario transcript --help")
	}
	ext.ExitCode, ext.Killed = exit.Code, exit.Code > 128
	return t, ext, nil
}

func describeStream(file string, t *transcript.Transcript, j transcript.Judgement) readStream {
	out := readStream{
		File: file, Valid: j.Class == harness.Valid, Class: j.Class, Why: j.Why, NoteVerified: j.NoteVerified, Evidence: j.Evidence,
		Lines: t.Lines, Noise: t.Noise, Retries: len(t.Retries), Usage: t.Usage(), Equivalent: t.Usage().Equivalent(), CostUSD: t.CostUSD(), FinalText: t.FinalText(),
		Unknown: t.Unknown, ToolUses: []toolUse{},
	}
	if out.Evidence == nil {
		out.Evidence = []harness.Evidence{}
	}
	if out.Unknown == nil {
		out.Unknown = map[string]int{}
	}
	if init, ok := t.Init(); ok {
		out.Model, out.CLI = init.Model, init.Version
	}
	for _, c := range t.ToolUses() {
		input := json.RawMessage(c.Input)
		if !json.Valid(input) {
			input = json.RawMessage("null")
		}
		out.ToolUses = append(out.ToolUses, toolUse{c.Line, c.ID, c.Name, input, c.Status, c.Subagent()})
	}
	return out
}

// maxShown bounds a call's input on a terminal line.
const maxShown = 60

func printStream(e env, s readStream, asked bool) error {
	line := string(s.Class)
	if s.Why != "" {
		line += ": " + s.Why
	}
	fmt.Fprintln(e.stdout, line)
	for _, ev := range s.Evidence {
		fmt.Fprintf(e.stdout, "  line %d: %s\n", ev.Line, ev.What)
	}
	switch {
	case asked && s.NoteVerified:
		fmt.Fprintln(e.stdout, "note: delivered whole")
	case asked:
		fmt.Fprintln(e.stdout, "note: the hook did not deliver this text")
	}
	fmt.Fprintf(e.stdout, "%s, CLI %s; %d lines, %d retries; %d tokens in, %d out\n", orUnknown(s.Model), orUnknown(s.CLI), s.Lines, s.Retries, s.Usage.Input, s.Usage.Output)
	for _, u := range s.ToolUses {
		input := string(u.Input)
		if r := []rune(input); len(r) > maxShown {
			input = string(r[:maxShown]) + "…"
		}
		fmt.Fprintf(e.stdout, "  line %-4d %-6s %s %s\n", u.Line, u.Status, u.Name, input)
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Unknown)) {
		fmt.Fprintf(e.stdout, "unknown lines: %d of type %s\n", s.Unknown[kind], kind)
	}
	_, err := fmt.Fprintf(e.stdout, "\n%s\n", s.FinalText)
	return err
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
