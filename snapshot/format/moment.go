package format

const microsOfDay = 24 * 60 * 60 * 1_000_000

// readMoment reads a date, and the time of day where there is one, as servers write them: 2026-11-26, 2026-11-26 09:12:00.25.
// It counts days from 1970-01-01. Not ok: no calendar has this day.
func readMoment(v []byte) (days, micros int64, ok bool) {
	if len(v) < 10 {
		return 0, 0, false
	}
	year, month, day := digits(v[:4]), digits(v[5:7]), digits(v[8:10])
	if month < 1 || month > 12 || day < 1 || day > daysOf(year, month) {
		return 0, 0, false
	}
	days = sinceEpoch(year, month, day)
	if len(v) < 19 {
		return days, 0, true
	}
	micros = ((digits(v[11:13])*60+digits(v[14:16]))*60 + digits(v[17:19])) * 1_000_000
	unit := int64(100_000)
	for i := 20; i < len(v); i++ {
		micros += int64(v[i]-'0') * unit
		unit /= 10
	}
	return days, micros, true
}

func digits(v []byte) (n int64) {
	for _, b := range v {
		n = n*10 + int64(b-'0')
	}
	return n
}

func daysOf(year, month int64) int64 {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}

// sinceEpoch counts days in the Gregorian calendar. Years begin in March here, so that the day that comes and goes is their
// last one.
func sinceEpoch(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	if year < 0 {
		era = -1
	}
	ofEra := year - era*400
	ofYear := (153*(month-3)+2)/5 + day - 1
	return era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468
}
