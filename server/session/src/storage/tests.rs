//! Files that are cut, locked, refused and read back.
