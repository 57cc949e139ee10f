#!/usr/bin/env python3
"""Opens a /watch/… page in a headless browser, which plays the stream by HLS, and checks that it plays without a stall."""

import urllib.parse

import chromium
import hls_page
import program

STATE = "document.getElementById('state').textContent"
METHODS = {"chromium": "HLS, played by the browser", "firefox": "HLS, played by this page"}
"""What the page says of the player: that of Chromium, or that of the page in Firefox, which has none."""


def start(options):
    if options.browser == "chromium":
        return chromium.Chromium()
    import firefox  # it needs a package that Chromium's driver does not need
    return firefox.Firefox()


def watch(run, options):
    with start(options) as browser:
        run.figures["peer"] = browser.version
        page = browser.page()
        fragment = f"#token={urllib.parse.quote(options.token, safe='')}" if options.token else ""
        page.open(f"{options.url}?transport=hls{fragment}")
        page.wait(f"{STATE} === 'live by HLS'", 60, "playback by HLS")
        hls_page.settle(page)
        hls_page.measure(run, page, options.seconds)
        run.figures.update(method=page.text("#codec"))
        run.check(f"the page says “{METHODS[options.browser]}”", run.figures["method"] == METHODS[options.browser])
        if options.reconnection:
            hls_page.resume(run, page, options.reconnection)
        if options.screenshot:
            page.screenshot(options.screenshot)
        run.figures.update(problems=page.problems)
        run.check("no errors in the console", not page.problems)


def main():
    parser = program.arguments(__doc__, "the page, http://HOST/watch/STREAM")
    parser.add_argument("--browser", choices=["chromium", "firefox"], default="chromium")
    hls_page.arguments(parser)
    options = parser.parse_args()
    run = program.Program(options.browser, options.seconds + hls_page.EXTRA_TIME)
    run.run(lambda: watch(run, options))


if __name__ == "__main__":
    main()
