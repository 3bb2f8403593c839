"""How much the pages of a browser compute."""

from __future__ import annotations

from playwright.sync_api import Browser


def renderer_seconds(browser: Browser) -> float:
    """Processor time of the renderer that has computed most; unlike the clock, not that of other programs."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return max(process["cpuTime"] for process in processes if process["type"] == "renderer")
