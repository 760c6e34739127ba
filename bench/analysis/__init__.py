"""Raw records -> fits, checks and verdicts. Pure: no files, no servers, no clock."""
