// Package disk answers: "which device did a person mean, and may its data be destroyed?"
//
// Look finds the device behind a name; Claim takes it for this process alone.
//
// What holds: a device is named by a name that stays (/dev/disk/by-id/...), and
// once more to confirm. A loop device has no such name: its number stands for
// it, and the path of its backing file, whose data are what is destroyed,
// confirms it. A disk that is mounted, held, swapped on, read-only, removable,
// virtual media, a partition, or not to be had exclusively is refused, and so is
// one with a file system or a partition table on it unless that is asked for.
//
// It writes to no device, except that Wipe removes the beginning of a file
// system that it was told the UUID of.
package disk
