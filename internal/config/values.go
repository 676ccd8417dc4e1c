package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

func parsePercent(text string) (Percent, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(x >= 0 && x < 100) {
		return 0, fmt.Errorf("%q is no share such as 20%%", text)
	}
	return Percent(x / 100), nil
}

// percent reads a share, from the file or from the environment.
func percent(_, to reflect.Type, value any) (any, error) {
	if to != reflect.TypeFor[Percent]() {
		return value, nil
	}
	switch v := value.(type) {
	case Percent:
		return v, nil
	case string:
		return parsePercent(v)
	case envText:
		return parsePercent(string(v))
	}
	return nil, fmt.Errorf("%v is no share such as 20%%", value)
}

// Battery is what happens to a campaign while the machine runs on its battery.
type Battery string

// What a campaign may do on a battery.
const (
	PauseOnBattery Battery = "pause" // wait for the mains
	RunOnBattery   Battery = "run"   // go on
)

func (b Battery) validate() error {
	if b != PauseOnBattery && b != RunOnBattery {
		return fmt.Errorf("power.on_battery: %q is not one of %s, %s", b, PauseOnBattery, RunOnBattery)
	}
	return nil
}

// Size is a number of bytes, written such as "4GiB".
type Size int64

// units are the units of a Size, the largest first.
func units() []string { return []string{"TiB", "GiB", "MiB", "KiB"} }

// String writes it as people do.
func (s Size) String() string {
	for i, unit := range units() {
		if by := Size(1) << (10 * (len(units()) - i)); s > 0 && s%by == 0 {
			return strconv.FormatInt(int64(s/by), 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes it as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func parseSize(text string) (Size, error) {
	text = strings.TrimSpace(text)
	if text == "0" {
		return 0, nil
	}
	for i, unit := range units() {
		number, ok := strings.CutSuffix(text, unit)
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if ok && err == nil && x >= 0 && x < 1<<20 {
			return Size(x * float64(int64(1)<<(10*(len(units())-i)))), nil
		}
	}
	return 0, fmt.Errorf("%q is no size such as 4GiB", text)
}

// size reads a size, from the file or from the environment.
func size(_, to reflect.Type, value any) (any, error) {
	if to != reflect.TypeFor[Size]() {
		return value, nil
	}
	switch v := value.(type) {
	case Size:
		return v, nil
	case int:
		return parseSize(strconv.Itoa(v))
	case string:
		return parseSize(v)
	case envText:
		return parseSize(string(v))
	}
	return nil, fmt.Errorf("%v is no size such as 4GiB", value)
}
