package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// AgentFault is what goes wrong with the process, whatever the model does.
type AgentFault string

// The faults a process can have.
const (
	AgentFaultNone        AgentFault = ""
	AgentFaultRoot        AgentFault = "root"         // refuses to start and says so in a result line
	AgentFaultSilent      AgentFault = "silent"       // no output, exit 0
	AgentFaultLimitText   AgentFault = "limit_text"   // a usage limit in plain text and nothing else, exit 1
	AgentFaultExit        AgentFault = "exit"         // no output, exit 1
	AgentFaultNoInit      AgentFault = "no_init"      // the first line never comes, the process ends well
	AgentFaultLateInit    AgentFault = "late_init"    // the first line never comes, and the process stays
	AgentFaultStops       AgentFault = "stops"        // no output after the first tool result, and the process stays
	AgentFaultStays       AgentFault = "stays"        // the process stays after its result
	AgentFaultNoResult    AgentFault = "no_result"    // ends well without a result
	AgentFaultShort       AgentFault = "short"        // ends well after the first tool result
	AgentFaultCutLine     AgentFault = "cut_line"     // the last line ends at 64 KiB
	AgentFaultGarbage     AgentFault = "garbage"      // half a JSON object on a line of its own
	AgentFaultPipeHeld    AgentFault = "pipe_held"    // a grandchild keeps the output open
	AgentFaultHasty       AgentFault = "hasty"        // takes only a prompt that is there at once
	AgentFaultBackground  AgentFault = "background"   // work in the background is cut off by the end
	AgentFaultForeign     AgentFault = "foreign"      // somebody else's plugin is loaded too
	AgentFaultStale       AgentFault = "stale"        // the plugin is read from a cache
	AgentFaultVersion     AgentFault = "version"      // another version of the CLI
	AgentFaultSameSession AgentFault = "same_session" // every session has the same id
	AgentFaultRefusal     AgentFault = "refusal_line" // says that the model refused, exit 1
	AgentFaultFallback    AgentFault = "fallback"     // says that another model took over
)

// AgentFaultFile is where the fault of a session is written down, in the directory of
// its configuration: a session's environment is sealed.
const AgentFaultFile = "stand-in-fault"

// cutAt is where a line is cut: what a pipe holds.
const cutAt = 64 << 10

// readFault reads the fault planted for this session.
func readFault(env environment) AgentFault {
	data, err := os.ReadFile(filepath.Join(env.value("CLAUDE_CONFIG_DIR"), AgentFaultFile))
	if err != nil {
		return AgentFaultNone
	}
	return AgentFault(strings.TrimSpace(string(data)))
}

// beforeStart is what goes wrong before the session begins; false when nothing
// does.
func (f AgentFault) beforeStart(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) (code int, over bool) {
	switch f {
	case AgentFaultSilent:
		return exitOK, true
	case AgentFaultExit:
		return exitFailed, true
	case AgentFaultLimitText:
		fmt.Fprintln(stdout, "You've hit your limit · resets 1pm")
		return exitFailed, true
	case AgentFaultLateInit:
		<-ctx.Done()
		return exitTerminated, true
	case AgentFaultHasty:
		if size, ok := ready(stdin); !ok {
			fmt.Fprintf(stderr, "Warning: no stdin data received at once (%d bytes)\n", size)
			return exitFailed, true
		}
	}
	return 0, false
}

// ready says whether the whole prompt is there before anybody waits for it.
func ready(stdin io.Reader) (int64, bool) {
	f, ok := stdin.(*os.File)
	if !ok {
		return 0, false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), info.Size() > 0
}

// startFails prints the result line of a session that could not start.
func (s *session) startFails() int {
	o := s.result("", ending{subtype: "error_during_execution", errors: []string{"bypassPermissions is refused for root"}})
	o["startup_failure_reason"], o["num_turns"] = "bypass_root", 0
	s.out.line(o)
	return exitFailed
}

// afterTool is what goes wrong once the first tool has answered.
func (s *session) afterTool(ctx context.Context) (code int, over bool) {
	switch s.fault {
	case AgentFaultStops:
		<-ctx.Done()
		return exitTerminated, true
	case AgentFaultShort:
		return exitOK, true
	case AgentFaultGarbage:
		_, _ = io.WriteString(s.out.w, `{"type":"assistant","message":{"content":[{"type":"tool_use","na`+"\n")
	case AgentFaultPipeHeld:
		s.holdPipe()
	case AgentFaultFallback:
		s.out.line(object{"type": "system", "subtype": "model_refusal_fallback", "session_id": s.id, "uuid": s.out.uuid()})
	case AgentFaultRefusal:
		s.out.line(object{"type": "system", "subtype": "model_refusal_no_fallback", "session_id": s.id, "uuid": s.out.uuid()})
		o := s.result("refusal", ending{subtype: "error_during_execution", reason: "api_error"})
		s.out.line(o)
		return exitFailed, true
	}
	return 0, false
}

// holdPipe starts a grandchild that writes nothing and keeps the output open.
func (s *session) holdPipe() {
	cmd := exec.Command("sleep", "600")
	if f, ok := s.out.w.(*os.File); ok {
		cmd.Stdout = f
	}
	cmd.Env = s.env
	if cmd.Start() == nil {
		_ = cmd.Process.Release() // nobody waits for it: that is the fault
	}
}

// atEnd is what goes wrong instead of the result line, or after it.
func (s *session) atEnd(ctx context.Context, result object) (code int) {
	switch s.fault {
	case AgentFaultNoResult:
		return exitOK
	case AgentFaultCutLine:
		result["result"] = strings.Repeat("So much was said. ", 2*cutAt/18)
		data, err := json.Marshal(result)
		if err == nil {
			_, _ = s.out.w.Write(data[:min(cutAt, len(data))])
		}
		return exitOK
	case AgentFaultBackground:
		s.out.line(object{
			"type": "system", "subtype": "task_notification", "task_id": "b1", "status": "stopped", "session_id": s.id, "uuid": s.out.uuid(),
		})
	}
	s.out.line(result)
	if s.fault == AgentFaultStays {
		<-ctx.Done()
		return exitTerminated
	}
	return exitOK
}

// untrue changes what the first line says.
func (f AgentFault) untrue(l *initLine) {
	switch f {
	case AgentFaultForeign:
		l.Plugins = append(l.Plugins, pluginEntry{"other", "/plugins/other", "other@market", "1.0.0"})
	case AgentFaultStale:
		for i, p := range l.Plugins {
			if strings.HasSuffix(p.Source, "@inline") {
				l.Plugins[i].Path = "/cache/plugins/" + p.Name
			}
		}
	case AgentFaultVersion:
		l.Version = "2.1.331"
	}
}

// sameID is the id of every session that has the fault.
const sameID = "00000000-0000-4000-8000-000000000001"

// maxResumes is how often the CLI has an answer that hit the token limit go on.
const maxResumes = 3

// resume asks for more of an answer that hit the token limit.
func (s *session) resume(a answer) {
	text := object{"type": "text", "text": "The output limit was hit. Go on from where the text ends."}
	s.printUser(text, nil, nil, true)
	s.conversation = append(s.conversation, sentMessage{"assistant", a.blocks}, sentMessage{"user", []object{text}})
}

// unfinished is the failure of a session whose model did not come to an end.
func unfinished(stop string) (*apiError, string) {
	if stop == "refusal" {
		return &apiError{word: "refusal"}, "API Error: the model refused to go on with this session"
	}
	return &apiError{word: "max_output_tokens"}, "API Error: the answer was longer than the output limit"
}
