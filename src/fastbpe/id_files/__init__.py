"""Files of ids on disk: reading of documents and windows, writing of shards, merging, converting and verifying."""
