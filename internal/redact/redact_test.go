package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

const exact = `Tr/oub?ad our+"42"&é`

// body is long enough for every family and made of what all of them allow.
const body = "AB12CD34EF56GH78JK90LM12NP34QR56"

// secrets are texts with what must disappear from them. The pieces are put
// together here so that this file holds nothing that looks like a key.
func secrets() map[string][2]string {
	pem := "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEow" + body + "\n" + body + "==\n-----END RSA PRIVATE" + " KEY-----"
	jwt := "eyJ" + "hbGciOi" + "." + "eyJ" + "zdWIiOiI" + "." + body
	return map[string][2]string{
		"anthropic key":       {"key sk-ant-" + "api03-" + body + "-_x end", body},
		"anthropic oauth":     {"sk-ant-" + "oat01-" + body, body},
		"github":              {"ghp_" + body, body},
		"github fine grained": {"github_pat_" + "11A_" + body, body},
		"aws id":              {"id=AKIA" + "ABCDEFGH12345678;", "ABCDEFGH12345678"},
		"aws secret":          {"aws_secret_access_key = " + body + "/x", body},
		"stripe":              {"sk_live_" + body, body},
		"stripe webhook":      {"whsec_" + body, body},
		"slack":               {"xoxb-" + "1234-" + body, body},
		"slack hook":          {"https://hooks.slack.com/services/" + "T0/B0/" + body, body},
		"jwt":                 {"(" + jwt + ")", body},
		"unsigned jwt":        {"eyJ" + "hbGciOiJub25l" + "." + "eyJ" + body + ".", body},
		"private key":         {"a\n" + pem + "\nb", body},
		"cut private key":     {"-----BEGIN PRIVATE" + " KEY-----\nMIIE" + body, body},
		"header":              {"Authorization: Bearer " + body, body},
		"raw header":          {"authorization:" + body, body},
		"basic header":        {"-H 'Authorization: Basic " + body + "=='", body},
		"signed header":       {"Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=" + body, body},
		"header in ruby":      {`h["Authorization"] = "Token ` + body + `"`, body},
		"api key header":      {"x-api-key: " + body, body},
		"oauth field":         {`{"refresh_token": "` + body + `"}`, body},
		"bearer alone":        {"use bearer " + body, body},
		"google oauth":        {"ya29." + body, body},
		"exact":               {"<" + exact + ">", exact},
		"exact base64":        {base64.StdEncoding.EncodeToString([]byte(exact)), base64.RawStdEncoding.EncodeToString([]byte(exact))[:24]},
		"exact basic auth":    {base64.StdEncoding.EncodeToString([]byte("me:" + exact + "!")), base64.StdEncoding.EncodeToString([]byte("me:" + exact))[8:24]},
		"exact base64 URL":    {base64.URLEncoding.EncodeToString([]byte("m:" + exact)), base64.URLEncoding.EncodeToString([]byte("m:" + exact))[8:24]},
		"exact in a query":    {"?k=" + url.QueryEscape(exact) + "&x", url.QueryEscape(exact)},
		"exact in a path":     {"/" + url.PathEscape(exact) + "/x", url.PathEscape(exact)},
		"exact lower URL":     {strings.ToLower(url.QueryEscape("T")) + lowerHex(url.QueryEscape(exact)), lowerHex(url.QueryEscape(exact))},
	}
}

func inString(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// stream passes text through a Writer in the given pieces.
func stream(t testing.TB, r *Redactor, pieces ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := r.Writer(&out)
	for _, p := range pieces {
		if n, err := io.WriteString(w, p); err != nil || n != len(p) {
			t.Fatalf("write: got %d, %v, want %d", n, err, len(p))
		}
	}
	testenv.Must(t, w.Close())
	return out.String()
}

// Every secret disappears wherever the stream is cut, plain and within JSON.
func TestWriter_SecretsSplitAtEveryByte(t *testing.T) {
	t.Parallel()
	r := New(exact, "")
	for name, s := range secrets() {
		secret, text := s[1], "before "+s[0]+"\nafter\n"
		nested := `{"a":` + inString(`{"b":`+inString(s[0])+`}`) + "}\n"
		for _, text := range []string{text, `{"content":` + inString(s[0]) + "}\n", nested} {
			whole := string(r.Bytes([]byte(text)))
			gone(t, name, whole, secret)
			if strings.HasPrefix(text, "{") && !json.Valid([]byte(whole)) {
				t.Errorf("%s: not JSON any more: %s", name, whole)
			}
			if again := string(r.Bytes([]byte(whole))); again != whole {
				t.Errorf("%s: second pass: got %q, want %q", name, again, whole)
			}
			for cut := range len(text) + 1 {
				if got := stream(t, r, text[:cut], text[cut:]); got != whole {
					t.Fatalf("%s cut at %d: got %q, want %q", name, cut, got, whole)
				}
			}
			if got := stream(t, r, strings.Split(text, "")...); got != whole {
				t.Errorf("%s byte by byte: got %q, want %q", name, got, whole)
			}
		}
	}
}

func gone(t *testing.T, name, got, secret string) {
	t.Helper()
	once := strings.Trim(inString(secret), `"`)
	for _, s := range []string{secret, once, strings.Trim(inString(once), `"`)} {
		if strings.Contains(got, s) {
			t.Errorf("%s: %q is still in %q", name, s, got)
		}
	}
	if !strings.Contains(got, "[redacted:") {
		t.Errorf("%s: no marker in %q", name, got)
	}
}

func TestBytes_WhatStaysAndWhatGoes(t *testing.T) {
	t.Parallel()
	r := New("hunter2", "abc")
	for _, c := range []struct{ in, want string }{
		{"a hunter2 b", "a [redacted:secret] b"},
		{"hunter2hunter2", "[redacted:secret][redacted:secret]"},
		{"abc is too short to look for", "abc is too short to look for"},
		{"Authorization: Bearer " + body + "\nHost: x", "Authorization: [redacted:header]\nHost: x"},
		{"The Authorization header is required.", "The Authorization header is required."},
		{"Authorization: hunter2", "Authorization: [redacted:secret]"},
		{"Authorization: [redacted:secret][redacted:secret]", "Authorization: [redacted:secret][redacted:secret]"},
		{"bearer of news", "bearer of news"},
		{`{"apiKeySource":"none"}`, `{"apiKeySource":"none"}`},
		{"eyJ is how a token begins.", "eyJ is how a token begins."},
		{"AKIA and AKIAshort", "AKIA and AKIAshort"},
		{"-----BEGIN CERTIFICATE-----\nMIIB\n", "-----BEGIN CERTIFICATE-----\nMIIB\n"},
		{"sk-ant- stands for a key", "sk-ant- stands for a key"},
		{"risk-ant-eater", "risk-ant-eater"},
		{"risk-ant-eaters-and-more", "ri[redacted:anthropic]"}, // the price of not asking what stands before
		{"ghp_" + body + "hunter2 x", "[redacted:github] x"},
		{"", ""},
	} {
		if got := string(r.Bytes([]byte(c.in))); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
		if again := string(r.Bytes([]byte(c.want))); again != c.want {
			t.Errorf("second pass of %q: got %q", c.want, again)
		}
	}
}

var markers = regexp.MustCompile(`\[redacted:[a-z-]*\]`)

// Any text in any pieces gives the same as the whole at once.
func TestWriter_AnyPieces(t *testing.T) {
	t.Parallel()
	// The last one begins within a key and may end behind the value.
	r := New("hunter2", "hunter2-longer", "2\n2345", "ization: "+body+" A")
	fragment := rapid.SampledFrom([]string{
		"hunter2", "hunter", "-longer", "2\n2345", "sk-ant-", "ghp_", body, "Authorization", ": ", "authorization: " + body + " ", "\"", "\\", "Bearer ",
		"eyJ", ".", "-----BEGIN ", "PRIVATE KEY", "-----", "-----END ", "AKIA", "\n", " ", "access_token", "=", "A", "é", "[redacted:secret]",
	})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(fragment, 0, 25).Draw(rt, "text"), "")
		whole := string(r.Bytes([]byte(text)))
		if strings.Contains(whole, "hunter2") {
			rt.Fatalf("a secret is in %q", whole)
		}
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := stream(t, r, pieces...); got != whole {
			rt.Fatalf("%q: got %q, want %q", pieces, got, whole)
		}
		// It may see a value where there was none before, and take out more.
		if again := string(r.Bytes([]byte(whole))); len(markers.ReplaceAllString(again, "")) > len(markers.ReplaceAllString(whole, "")) {
			rt.Fatalf("a second pass of %q: got %q", whole, again)
		}
	})
}

func TestWriter_HoldsBackOnlyBeginnings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := New(exact).Writer(&out)
	for _, c := range []struct{ write, total string }{
		{"a line\n", "a line\n"},
		{"about sk-", "a line\nabout "},
		{"ies.\n", "a line\nabout sk-ies.\n"},
	} {
		if _, err := io.WriteString(w, c.write); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.total {
			t.Errorf("after %q: got %q, want %q", c.write, out.String(), c.total)
		}
	}
}

// A session may print anything; what is held back must stay bounded.
func TestWriter_HoldsBackLittle(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"eyJ", "AKIA", "sk-ant-", "authorization=", "-----BEGIN PRIVATE" + " KEY-----", "bearer " + body} {
		var out bytes.Buffer
		w := New(exact).Writer(&out)
		for range (4 * maxHold) / len(unit) {
			if _, err := io.WriteString(w, unit); err != nil {
				t.Fatal(err)
			}
			if len(w.held) > 2*maxHold+len(unit) {
				t.Fatalf("%q: %d bytes are held back", unit, len(w.held))
			}
		}
		testenv.Must(t, w.Close())
	}
}

func TestBytes_CleanTextIsNotCopied(t *testing.T) {
	t.Parallel()
	text := []byte("nothing to see\n")
	if got := New().Bytes(text); &got[0] != &text[0] {
		t.Error("got a copy")
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestWriter_KeepsTheError(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	w := New().Writer(broken{full})
	if _, err := io.WriteString(w, "text\n"); !errors.Is(err, full) {
		t.Errorf("write: got %v, want %v", err, full)
	}
	if _, err := io.WriteString(w, "more\n"); !errors.Is(err, full) {
		t.Errorf("second write: got %v, want %v", err, full)
	}
	if err := w.Close(); !errors.Is(err, full) {
		t.Errorf("close: got %v, want %v", err, full)
	}
}

func BenchmarkWriter(b *testing.B) {
	var transcript bytes.Buffer
	for i := range 4000 {
		fmt.Fprintf(&transcript, `{"type":"assistant","message":{"id":"msg_%06d","model":"m-1","content":[{"type":"text","text":`+
			`"They asked whether the relay should retry; the accepted record says it must back off.\n\ndef call(env)\n  key = env[\"HTTP_HOST\"]\nend"}]},"session_id":"5e1f0c%06d"}`+"\n", i, i)
	}
	r := New("correct horse battery", "tok-5d8b1e", "loopd-dummy-key-123456")
	text := transcript.Bytes()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		w := r.Writer(io.Discard)
		for rest := text; len(rest) > 0; {
			n := min(32<<10, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				b.Fatal(err)
			}
			rest = rest[n:]
		}
		testenv.Must(b, w.Close())
	}
}
