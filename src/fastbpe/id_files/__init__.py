"""Files of ids on the disk: read by documents and windows, written in shards, merged, converted and verified."""
