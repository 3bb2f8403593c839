"""Programs for the developers: training what ships, measuring it, writing generated docs."""
