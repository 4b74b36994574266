"""What host calls, writes and starts cost here, alone and beside other ways to run a guest; see `bench/README.md`."""
