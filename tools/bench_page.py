"""The part of `scripts/bench` on a slow phone: how soon somebody can write on a collection page.

The network and the processor are those that Lighthouse assumes for a phone on a slow mobile
network: 150 ms for each answer, 1.6 Mbit/s, and a quarter of this machine's speed.
"""

import statistics

from playwright.sync_api import Browser, sync_playwright

from tests.support.process import Service
from tools.journey import CHROMIUM, CHROMIUM_FLAGS

ROUNDS = 5
LINE = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}
SLOWER = 4

# Clicks the link to the text field as soon as it is drawn, and notes when that has the focus.
TRY_TO_WRITE = """
new PerformanceObserver((list) => {
  const [first] = list.getEntriesByName('first-contentful-paint');
  if (first) window.painted = first.startTime;
}).observe({ type: 'paint', buffered: true });
const attempt = () => {
  const link = document.querySelector('[data-open]');
  if (window.painted && link?.checkVisibility()) link.click();
  if (document.activeElement?.id === 'text') window.ready = performance.now();
  else requestAnimationFrame(attempt);
};
requestAnimationFrame(attempt);
"""


def measure_page(service: Service, headers: dict[str, str]) -> None:
    """Print the weight of a collection page with a question and prompts, and when it is ready."""
    project = service.call("POST", "/v1/projects", {"slug": "bench-page"}, headers).data
    url = f"{service.url}/{project['publicPageConfig']['slug']}"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        found = [_open_slowly(browser, url) for _ in range(ROUNDS)]
        browser.close()
    painted, ready, weight = (statistics.median(each) for each in zip(*found, strict=True))
    print(
        f"collection page, slow phone: {weight / 1000:.1f} kB, first words after {painted:.0f} ms, "
        f"ready to type after {ready:.0f} ms"
    )


def _open_slowly(browser: Browser, url: str) -> tuple[float, float, float]:
    """Return after how many milliseconds the page was painted and ready, and its size in bytes."""
    page = browser.new_page(viewport={"width": 360, "height": 740})
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", LINE)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    sizes: list[int] = []
    page.on("requestfinished", lambda each: sizes.append(each.sizes()["responseBodySize"]))
    page.add_init_script(TRY_TO_WRITE)
    page.goto(url, wait_until="networkidle")
    page.wait_for_function("window.ready")
    painted, ready = page.evaluate("[window.painted, window.ready]")
    page.close()
    return painted, ready, sum(sizes)
