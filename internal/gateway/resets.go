package gateway

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a zone named in a message must be known on every machine
)

// resetText finds the moment a message names: an hour, with minutes and a half
// of the day or without, perhaps a day before it and a zone after it.
var resetText = regexp.MustCompile(`(?i)\breset(?:s|ting)?\b(?:\s+(?:at|on))?\s+(?:([a-z]{3})[a-z]*\.?\s+(\d{1,2})(?:,|\s+at)?\s+|(tomorrow)(?:\s+at)?\s+)?(\d{1,2})(?::(\d{2}))?\s*([ap]m)?\b(?:\s*\(([A-Za-z0-9_+/-]+)\))?`)

// ParseReset reads the next moment that a message of a refused session names, in
// the zone it names or else in the local one of now. It is false for a text that
// names none.
func ParseReset(text string, now time.Time) (time.Time, bool) {
	m := resetText.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	zone := now.Location()
	if m[7] != "" {
		named, err := time.LoadLocation(m[7])
		if err != nil {
			return time.Time{}, false
		}
		zone = named
	}
	hour, minute, ok := clockOf(m[4], m[5], m[6])
	if !ok {
		return time.Time{}, false
	}
	here := now.In(zone)
	switch {
	case m[1] != "":
		month, ok := monthOf(m[1])
		day, err := strconv.Atoi(m[2])
		if !ok || err != nil || day < 1 || day > 31 {
			return time.Time{}, false
		}
		at := time.Date(here.Year(), month, day, hour, minute, 0, 0, zone)
		if !at.After(now) {
			at = time.Date(here.Year()+1, month, day, hour, minute, 0, 0, zone)
		}
		return at.UTC(), at.Before(now.Add(maxRetryAfter))
	case m[3] != "":
		return time.Date(here.Year(), here.Month(), here.Day()+1, hour, minute, 0, 0, zone).UTC(), true
	}
	return nextClock(here, hour, minute).UTC(), true
}

// nextClock is the next time local clocks show hour and minute. On the
// day clocks go back it is the later of the two moments, when the limit has
// lifted whichever was meant; on the day they go forward, the moment after the
// gap.
func nextClock(here time.Time, hour, minute int) time.Time {
	for day := range 3 {
		at := time.Date(here.Year(), here.Month(), here.Day()+day, hour, minute, 0, 0, here.Location())
		later := at.Add(time.Hour)
		if twice := later.Hour() == hour && later.Minute() == minute; twice || 60*at.Hour()+at.Minute() < 60*hour+minute {
			at = later
		}
		if at.After(here) {
			return at
		}
	}
	return here
}

func clockOf(hourText, minuteText, half string) (hour, minute int, ok bool) {
	hour, err := strconv.Atoi(hourText)
	if err != nil {
		return 0, 0, false
	}
	if minuteText != "" {
		if minute, err = strconv.Atoi(minuteText); err != nil {
			return 0, 0, false
		}
	}
	switch strings.ToLower(half) {
	case "":
		// A bare number is an hour only with its minutes: "resets 5" may be anything.
		return hour, minute, minuteText != "" && hour < 24 && minute < 60
	case "pm":
		return hour%12 + 12, minute, hour >= 1 && hour <= 12 && minute < 60
	default:
		return hour % 12, minute, hour >= 1 && hour <= 12 && minute < 60
	}
}

func monthOf(text string) (time.Month, bool) {
	t, err := time.Parse("Jan", strings.ToUpper(text[:1])+strings.ToLower(text[1:]))
	return t.Month(), err == nil
}
