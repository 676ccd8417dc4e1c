package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

type failer interface {
	Helper()
	Fatal(...any)
}

func mustMarshal(t failer, v any) []byte {
	data, err := json.Marshal(v)
	testenv.Must(t, err)
	return data
}

// normal is what encoding/json makes of a map after one round trip.
func normal(t failer, m map[string]string) map[string]string {
	out := make(map[string]string)
	testenv.Must(t, json.Unmarshal(mustMarshal(t, m), &out))
	return out
}

// typical builds a stream like those of real sessions: source code with its
// quotes and line ends in results of a few kilobytes, said twice as the CLI
// does, between short assistant lines.
func typical(t testing.TB) []byte {
	code := strings.Repeat("  def fare(km, zone: \"inner\")\n\treturn \"#{km * 12} ct\" if zone == \"inner\"\n  end\n", 40)
	var b bytes.Buffer
	b.WriteString(good(t))
	for i := range 3000 {
		fmt.Fprintf(&b, `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_b%d","name":"Read","input":{"file_path":"/srv/box/p7/lib/f%d.rb"}}],"id":"msg_b%d","model":"model-small-9","role":"assistant","usage":{"input_tokens":40,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s"}`+"\n", i, i, i)
		text := mustMarshal(t, code)
		fmt.Fprintf(&b, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_b%d","type":"tool_result","content":%s}]},"parent_tool_use_id":null,"tool_use_result":{"type":"text","file":{"content":%s}}}`+"\n", i, text, text)
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	stream := typical(b)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(bytes.NewReader(stream), Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
