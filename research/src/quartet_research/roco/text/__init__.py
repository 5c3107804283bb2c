"""RoCoBench-Text: questions about single decisions in RoCo's tasks, each with a computed key and in two wordings."""
