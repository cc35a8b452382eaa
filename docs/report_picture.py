"""Makes docs/report.png: the report of a run on the built-in graph, as a headless Chromium shows it.

python docs/report_picture.py
"""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from simpgcn.config import chosen_config
from simpgcn.report import write_report
from simpgcn.train_run import train_run

PICTURE = Path(__file__).parent / "report.png"
WIDTH, HEIGHT = 1160, 1240
FLAGS = "--headless --no-sandbox --disable-gpu --hide-scrollbars --disable-background-networking"


def screenshot(page: Path, profile: Path) -> bytes:
    """The top of a page, as PNG."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(page.as_uri())
        drawn = "return document.documentElement.dataset.charts === 'drawn'"
        WebDriverWait(driver, 30).until(lambda browser: browser.execute_script(drawn))
        return base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", {})["data"])
    finally:
        driver.quit()


def main() -> None:
    """Train, write the page, and take its picture in as few colours as it needs."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run = train_run(chosen_config([{"data": {"name": "demo"}, "training": {"device": "cpu"}}]), Path("demo"))
        page = Path(folder) / "report.html"
        write_report([run.folder], page)
        shot = Path(folder) / "shot.png"
        shot.write_bytes(screenshot(page, Path(folder) / "profile"))
        Image.open(shot).convert("RGB").quantize(128).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
