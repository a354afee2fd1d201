package lfs

// MinBytes is the length of the shortest pointer: the oldest version, and a
// size of one digit. Like [MaxBytes] it rules files out by their size.
const MinBytes = len("version http://git-media.io/v/2\n") + len("oid "+oidPrefix) + oidDigits + len("\nsize 0")
