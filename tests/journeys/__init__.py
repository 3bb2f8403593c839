"""What three first-time users want to get done, with the commands that README.md and the pages it links to show."""
