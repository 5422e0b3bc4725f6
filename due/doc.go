// Package due says what of the tasks that come back is to be done now, and when each will be; and when a window of the week is open.
//
// It is pure: a Task has an interval, the time since 1970 is cut into intervals of that length, and a task is due when none that was done
// began in the present one. So a timer that is a second early or late changes nothing, and a task that failed, or was killed, is due again
// at the next call.
package due
