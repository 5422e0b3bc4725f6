package farm_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"stowage/farm"
)

func TestParseQuantity(t *testing.T) {
	tests := []struct {
		text string
		kind farm.Kind
		want float64
	}{
		{"48GB", farm.KindBytes, 48e9},
		{"48 GB", farm.KindBytes, 48e9},
		{"96GiB", farm.KindBytes, 96 << 30},
		{"2.2TB", farm.KindBytes, 2200000000000},
		{"0.1TB", farm.KindBytes, 100000000000},
		{"1.1PB", farm.KindBytes, 1100000000000000},
		{"512B", farm.KindBytes, 512},
		{"40MB/day", farm.KindBytesPerDay, 40e6},
		{"0B/day", farm.KindBytesPerDay, 0},
		{"10Gbit", farm.KindBits, 1e10},
		{"10Gbit/s", farm.KindBits, 1e10},
		{"120MB/s", farm.KindByteRate, 120e6},
		{"1 GiB/s", farm.KindByteRate, 1 << 30},
		{"0.07", farm.KindPlain, 0.07},
		{"1800", farm.KindPlain, 1800},
		{"4", farm.KindOpen, 4},
		{"4kB", farm.KindOpen, 4000},
	}
	for _, test := range tests {
		got, err := farm.ParseQuantity("x", test.text, test.kind)
		if err != nil || got != test.want {
			t.Errorf("%s as %s: %v, %v; want %v", test.text, test.kind, got, err, test.want)
		}
	}
}

func TestParseQuantitySaysWhatWasMeant(t *testing.T) {
	tests := []struct {
		text string
		kind farm.Kind
		want string
	}{
		{"48Gbit", farm.KindBytes, "disk wants bytes such as 48GB, not 48Gbit"},
		{"48", farm.KindBytes, "disk wants bytes such as 48GB, not 48"},
		{"48Gb", farm.KindBytes, `disk wants bytes such as 48GB, not 48Gb: unit "Gb" is not known: write GB for bytes or Gbit for bits`},
		{"10GBIT", farm.KindBits, `disk wants bits a second such as 10Gbit, not 10GBIT: unit "GBIT" is not known: write Gbit`},
		{"48XB", farm.KindBytes, `disk wants bytes such as 48GB, not 48XB: unit "XB" is not known`},
		{"GB", farm.KindBytes, "disk wants bytes such as 48GB, not GB: it does not start with a number"},
		{"", farm.KindPlain, "disk wants a plain number such as 1800 or 0.07, not nothing: it does not start with a number"},
		{"-5", farm.KindPlain, "disk wants a plain number such as 1800 or 0.07, not -5: it is negative"},
		{"-5GB", farm.KindBytes, "disk wants bytes such as 48GB, not -5GB: it is negative"},
		{"NaN", farm.KindPlain, "disk wants a plain number such as 1800 or 0.07, not NaN: it does not start with a number"},
		{"+Inf", farm.KindPlain, "disk wants a plain number such as 1800 or 0.07, not +Inf: it does not start with a number"},
		{"1e400", farm.KindPlain, `disk wants a plain number such as 1800 or 0.07, not 1e400: unit "e400" is not known`},
		{"1.2.3GB", farm.KindBytes, "disk wants bytes such as 48GB, not 1.2.3GB: it is not a number"},
		{"99999999PB", farm.KindBytes, "disk wants bytes such as 48GB, not 99999999PB: it is too large"},
		{"40Mbit/day", farm.KindBytesPerDay, `disk wants bytes a day such as 40MB/day, not 40Mbit/day: only bytes can be a day, not "Mbit"`},
		{"1Gbit/s", farm.KindByteRate, "disk wants bytes a second such as 120MB/s, not 1Gbit/s"},
		{"120MB", farm.KindByteRate, "disk wants bytes a second such as 120MB/s, not 120MB"},
		{"1800/s", farm.KindPlain, "disk wants a plain number such as 1800 or 0.07, not 1800/s: only bytes and bits can be a second"},
		{"40MB/s/day", farm.KindBytesPerDay, `disk wants bytes a day such as 40MB/day, not 40MB/s/day: unit "MB/s" is not known`},
		{"48GB/s", farm.KindBytes, "disk wants bytes such as 48GB, not 48GB/s"},
		{"40MB", farm.KindBytesPerDay, "disk wants bytes a day such as 40MB/day, not 40MB"},
		{"4Gbit", farm.KindOpen, "disk wants a plain number such as 4 or bytes such as 48GB, not 4Gbit"},
		{"4\x00GB", farm.KindBytes, `disk wants bytes such as 48GB, not "4\x00GB": unit "\x00GB" is not known`},
	}
	for _, test := range tests {
		_, err := farm.ParseQuantity("disk", test.text, test.kind)
		if !errors.Is(err, farm.ErrInput) || err.Error() != test.want {
			t.Errorf("%q: error is %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestFormatQuantity(t *testing.T) {
	tests := []struct {
		v    float64
		kind farm.Kind
		want string
	}{
		{48e9, farm.KindBytes, "48GB"},
		{96 << 30, farm.KindBytes, "96GiB"},
		{2.2e12, farm.KindBytes, "2.2TB"},
		{100e9, farm.KindBytes, "100GB"},
		{0, farm.KindBytes, "0B"},
		{1234567, farm.KindBytes, "1234567B"},
		{40e6, farm.KindBytesPerDay, "40MB/day"},
		{1e10, farm.KindBits, "10Gbit"},
		{120e6, farm.KindByteRate, "120MB/s"},
		{0.07, farm.KindPlain, "0.07"},
		{1800, farm.KindOpen, "1800"},
	}
	for _, test := range tests {
		if got := farm.FormatQuantity(test.v, test.kind); got != test.want {
			t.Errorf("%v as %s is %s, want %s", test.v, test.kind, got, test.want)
		}
	}
}

func TestFormattedQuantityReadsBackExactly(t *testing.T) {
	kinds := []farm.Kind{farm.KindBytes, farm.KindBits, farm.KindBytesPerDay, farm.KindByteRate, farm.KindPlain, farm.KindOpen}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(0, 1<<62).Draw(t, "v")
		if rapid.Bool().Draw(t, "whole") {
			v = math.Floor(v)
		}
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		text := farm.FormatQuantity(v, k)
		back, err := farm.ParseQuantity("x", text, k)
		if err != nil || back != v {
			t.Fatalf("%v prints as %s and reads as %v, %v", v, text, back, err)
		}
	})
}

func FuzzParseQuantity(f *testing.F) {
	for _, seed := range []string{"48GB", "96GiB", "40MB/day", "10Gbit", "0.07", "-1", "1e999", ".", "--5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range []farm.Kind{farm.KindPlain, farm.KindBytes, farm.KindBits, farm.KindBytesPerDay, farm.KindOpen} {
			v, err := farm.ParseQuantity("x", text, k)
			if err == nil && (math.IsNaN(v) || math.IsInf(v, 0) || v < 0) {
				t.Errorf("%q reads as %v", text, v)
			}
		}
	})
}
