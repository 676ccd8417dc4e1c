package candidates

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// reading is a text as a model may take it although it is not written so.
type reading func(text string) string

// readings are the other ways in which a text can say something that a search of its bytes does not find. Each undoes one
// disguise that a model sees through; what needs knowledge of the meaning, such as a translation, is none of them.
func readings() []reading {
	return []reading{
		plainLetters, unmarked, unescaped, decoded, spelledOut,
		func(text string) string { return humps.ReplaceAllString(text, "${1}_$2") },
		func(text string) string { return leet(text, "0134578$@", "oieastbsa") },
		func(text string) string { return numbersWithLetters.ReplaceAllStringFunc(text, digitsOfLetters) },
		backwards, rot13,
	}
}

// lookAlike maps letters of other scripts to the Latin ones they cannot be told from.
var lookAlike = pairs(
	"АВЕЅІЈКМНОРСТУХҮԌаеѕіјкорсухԁһԛԝӏ"+"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανοριυγκετ"+"ıɡɑ",
	"ABESIJKMHOPCTYXYGaesijkopcuxdhqwl"+"ABEZHIKMNOPTYXavopiuyket"+"iga",
)

func pairs(from, to string) map[rune]rune {
	out, latin := make(map[rune]rune), []rune(to)
	for i, r := range []rune(from) {
		out[r] = latin[i]
	}
	return out
}

// plainLetters writes compatibility forms, enclosed letters, digits of other scripts and look-alikes as plain letters
// and digits, without marks and without blanks that hardly show.
func plainLetters(text string) string {
	thin := strings.Map(func(r rune) rune {
		if r != ' ' && unicode.Is(unicode.Zs, r) || r == '\u2800' {
			return -1
		}
		return r
	}, text)
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.M) || hidden(r):
			return -1
		case '\U0001F150' <= r && r <= '\U0001F169':
			return r - '\U0001F150' + 'A'
		case '\U0001F170' <= r && r <= '\U0001F189':
			return r - '\U0001F170' + 'A'
		case '\U0001F1E6' <= r && r <= '\U0001F1FF':
			return r - '\U0001F1E6' + 'A'
		case unicode.IsDigit(r):
			return digit(r)
		}
		if latin, ok := lookAlike[r]; ok {
			return latin
		}
		return r
	}, norm.NFKD.String(thin))
}

// digit is a decimal digit of any script as an ASCII one. Scripts have their ten in a row, several of them one after
// another.
func digit(r rune) rune {
	first := r
	for unicode.IsDigit(first - 1) {
		first--
	}
	return '0' + (r-first)%10
}

// marksWithin is what a reader of Markdown, HTML or code does not see within a word: comments, tags, emphasis, quotes put
// together, hyphens at the end of a line, line ends within a path.
var marksWithin = regexp.MustCompile("(?s)<!--.*?-->|</?[a-zA-Z][^<>]*>|[\"'`]\\s*\\+\\s*[\"'`]|[*_~`\\\\\\[\\]]|[-\u2010]\r?\n\\s*")

var brokenPath = regexp.MustCompile(`\s*\n\s*([/.])|([/.])\s*\n\s*`)

func unmarked(text string) string {
	return brokenPath.ReplaceAllString(marksWithin.ReplaceAllString(text, ""), "$1$2")
}

var (
	percent   = regexp.MustCompile(`(?:%[0-9a-fA-F]{2})+`)
	codePoint = regexp.MustCompile(`\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2}))`)
)

// unescaped undoes the escapes of HTML, links and program text.
func unescaped(text string) string {
	text = percent.ReplaceAllStringFunc(html.UnescapeString(text), func(s string) string {
		raw, err := hex.DecodeString(strings.ReplaceAll(s, "%", ""))
		return either(string(raw), s, err == nil && utf8.Valid(raw))
	})
	return codePoint.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.ParseInt(strings.Trim(s, `\uUx{}`), 16, 32)
		return either(string(rune(n)), s, err == nil)
	})
}

func either(yes, no string, which bool) string {
	if which {
		return yes
	}
	return no
}

var (
	hexRun    = regexp.MustCompile(`\b(?:[0-9a-fA-F]{2}[ :]?){6,}`)
	base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}={0,2}`)
)

// decoded is what the runs of hexadecimal and base64 digits in a text stand for, where that is text.
func decoded(text string) string {
	var out []string
	add := func(raw []byte, err error) {
		if err == nil && utf8.Valid(raw) {
			out = append(out, string(raw))
		}
	}
	for _, run := range hexRun.FindAllString(text, -1) {
		add(hex.DecodeString(strings.NewReplacer(" ", "", ":", "").Replace(run)))
	}
	for _, run := range base64Run.FindAllString(text, -1) {
		run = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(run, "="))
		add(base64.RawStdEncoding.DecodeString(run))
	}
	return strings.Join(out, "\n")
}

var (
	lettersApart = regexp.MustCompile(`(?:^|\s)(?:\S[ \t]){4,}\S(?:\s|$)`)
	saidAloud    = strings.NewReplacer(" dot ", ".", " slash ", "/", " underscore ", "_", " hash ", "#", " dash ", "-")
)

// spelledOut puts together what is spelled letter by letter or with the names of signs.
func spelledOut(text string) string {
	return saidAloud.Replace(lettersApart.ReplaceAllStringFunc(text, func(s string) string {
		return " " + strings.Join(strings.Fields(s), "") + " "
	}))
}

var (
	humps              = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	numbersWithLetters = regexp.MustCompile(`\b[0-9OoIl]*[0-9][0-9OoIl]*\b`)
)

// leet replaces signs by letters in words that hold both.
func leet(text, signs, letters string) string {
	words := strings.SplitAfter(text, " ")
	for i, w := range words {
		if !strings.ContainsFunc(w, unicode.IsLetter) || !strings.ContainsAny(w, signs) {
			continue
		}
		words[i] = strings.Map(func(r rune) rune {
			if at := strings.IndexRune(signs, r); at >= 0 {
				return rune(letters[at])
			}
			return r
		}, w)
	}
	return strings.Join(words, "")
}

func digitsOfLetters(number string) string {
	return strings.NewReplacer("O", "0", "o", "0", "I", "1", "l", "1").Replace(number)
}

func backwards(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}

func rot13(text string) string {
	turn := func(r, a rune) rune { return a + (r-a+13)%26 }
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return turn(r, 'a')
		case 'A' <= r && r <= 'Z':
			return turn(r, 'A')
		}
		return r
	}, text)
}
