package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"loopd/harness"
	"loopd/internal/testenv"
)

func TestVigil(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	at := func(s int) time.Time { return begun.Add(time.Duration(s) * time.Second) }
	clocks := harness.Clocks{Startup: 60 * time.Second, Idle: 300 * time.Second, Total: 900 * time.Second, Grace: 10 * time.Second}
	running := vigil{Clocks: clocks, begun: begun, lastByte: at(50), init: true}
	for _, tt := range []struct {
		name     string
		v        vigil
		now      int
		activity time.Time
		want     ending
		next     int
	}{
		{"start-up runs", vigil{Clocks: clocks, begun: begun, lastByte: begun}, 59, time.Time{}, ending{}, 60},
		{"start-up is over", vigil{Clocks: clocks, begun: begun, lastByte: at(59)}, 60, at(59), ending{over: true, cause: harness.StartupHang}, 60},
		{"idle from the last byte", running, 349, time.Time{}, ending{}, 350},
		{"idle is over", running, 350, time.Time{}, ending{over: true, cause: harness.Hang}, 350},
		{"idle from the gateway", running, 350, at(100), ending{}, 400},
		{"idle when the gateway is older", running, 350, at(10), ending{over: true, cause: harness.Hang}, 350},
		{"total before idle", running, 899, at(880), ending{}, 900},
		{"total while working", running, 900, at(880), ending{over: true, limitTime: true}, 900},
		{"total while idle", running, 900, at(600), ending{over: true, cause: harness.Hang}, 900},
	} {
		got, next := tt.v.judge(at(tt.now), tt.activity)
		if got != tt.want || !next.Equal(at(tt.next)) {
			t.Errorf("%s: got %+v, next at %v, want %+v and %ds", tt.name, got, next.Sub(begun), tt.want, tt.next)
		}
	}
}

func TestVigilAfterResult(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	v := vigil{Clocks: harness.Clocks{Total: time.Hour, Grace: 10 * time.Second}, begun: begun, lastByte: begun}
	v.line(lineResult, begun)
	if got, next := v.judge(begun.Add(9*time.Second), begun); got.over || !next.Equal(begun.Add(10*time.Second)) {
		t.Errorf("within grace: got %+v, %v", got, next)
	}
	v.line(lineInit, begun.Add(9*time.Second))
	if got, _ := v.judge(begun.Add(20*time.Second), begun); got.over {
		t.Errorf("woken by a job in the background: got %+v, want it to go on", got)
	}
	v.line(lineResult, begun.Add(21*time.Second))
	if got, _ := v.judge(begun.Add(31*time.Second), begun); got != (ending{over: true}) {
		t.Errorf("after the grace: got %+v, want it over without a cause", got)
	}
}

func scan(chunks ...string) []lineKind {
	var k keyScan
	var out []lineKind
	for _, c := range chunks {
		k.feed([]byte(c), func(kind lineKind) { out = append(out, kind) })
	}
	return out
}

func TestKeyScan(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]lineKind{
		`{"type":"result"}`: lineResult,
		`{"duration":43,"usage":{"type":"x"},"type":"result","is_error":true}`: lineResult,
		` { "type" : "result" } `:                              lineResult,
		`{"a":[{"type":"system"},"type",":"],"type":"result"}`: lineResult,
		`{"type":"system","subtype":"init","tools":["Bash"]}`:  lineInit,
		`{"subtype":"init","type":"system"}`:                   lineInit,
		`{"type":"system","subtype":"hook_started"}`:           "",
		`{"type":"assistant","message":{"type":"result"}}`:     "",
		`{"type":"user","text":"{\"type\":\"result\"}"}`:       "",
		`{"text":"\\","type":"result"}`:                        lineResult,
		`{"value":"type","other":"result"}`:                    "",
		`{"type":"result"`:                                     "",
		`"type":"result"}`:                                     "",
		`[{"type":"result"}]`:                                  "",
		`{"type":"resultresultresultresult"}`:                  "",
		`type result`:                                          "",
		``:                                                     "",
	} {
		got := scan(line + "\n")
		if want == "" && len(got) != 0 || want != "" && (len(got) != 1 || got[0] != want) {
			t.Errorf("%s: got %v, want %q", line, got, want)
		}
	}
	if got := scan(`{"type":"result"}`); len(got) != 0 {
		t.Errorf("a line that is not complete: got %v", got)
	}
}

// The scan agrees with a JSON parser on any object, however it is cut.
func TestKeyScanAgreesWithJSON(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"type", "subtype", "result", "system", "init", `q"\`, "", "a long value beyond the cut"})
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(word, rapid.OneOf(
			rapid.Map(word, func(s string) any { return s }),
			rapid.Map(rapid.MapOf(word, word), func(m map[string]string) any { return m }),
			rapid.Map(rapid.SliceOf(word), func(s []string) any { return s }),
			rapid.Map(rapid.Int(), func(i int) any { return i }),
		)).Draw(t, "object")
		line, err := json.Marshal(object)
		testenv.Must(t, err)
		var want []lineKind
		switch {
		case object["type"] == "result":
			want = []lineKind{lineResult}
		case object["type"] == "system" && object["subtype"] == "init":
			want = []lineKind{lineInit}
		}
		text := string(line) + "\n"
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		got := scan(text[:cut], text[cut:])
		if len(got) != len(want) || len(got) == 1 && got[0] != want[0] {
			t.Fatalf("%s: got %v, want %v", line, got, want)
		}
	})
}

func BenchmarkKeyScan(b *testing.B) {
	line := []byte(`{"type":"assistant","message":{"content":"` + strings.Repeat("some words of text ", 1<<16) + "\"}}\n")
	b.SetBytes(int64(len(line)))
	var k keyScan
	for b.Loop() {
		k.feed(line, func(lineKind) {})
	}
}
