"""The common code of the programs that measure a page of the platform in Chromium: arguments, and the hook of the page."""

import time

import browser
import program

STRIP = """(() => {
    const video = document.querySelector("video");
    const strip = video && pcastReadStrip(video);
    return strip?.milliseconds ? strip.number : null; // a black picture reads as zeros
})()"""
SCREENSHOT_TIMEOUT = 30


def hook():
    """Returns the script that stores the peer connections of a page and reads its frames."""
    return browser.script("time_strip.js") + browser.script("peer_connections.js")


def arguments(description, url_help, activity, join_help):
    """Returns a parser. The caller adds its own arguments. `activity` is what the page does, such as "plays"."""
    parser = program.arguments(description, url_help, positional=True)
    parser.add_argument("--screenshot", metavar="FILE", help=f"a PNG of the page while it {activity}")
    parser.add_argument(
        "--strip", action="store_true", help="the screenshot must not be of a moment at which a film begins again, without a "
        "time strip")
    parser.add_argument("--join", type=float, default=90, help=join_help)
    parser.add_argument("--outage", action="store_true", help="expect an outage, and measure after it")
    parser.add_argument("--restart", action="store_true", help="expect the platform to end, and to be started again")
    parser.add_argument("--flag", action="append", default=[], help="one more flag for Chromium")
    return parser


def main(parser, body):
    """Parses the arguments and runs the program. `body` receives the run and the options."""
    options = parser.parse_args()
    options.url = options.url or options.url_option
    if not options.url:
        parser.error("the page's address is missing")
    run = program.Program("Chromium", options.seconds, getattr(options, "limit", None))
    run.run(lambda: body(run, options))


def end(run, page, options):
    """Writes the screenshot and the errors of the page."""
    if options.screenshot:
        screenshot(page, options)
    run.figures["problems"] = page.problems


def screenshot(page, options):
    """Writes the screenshot. With --strip, it is written again if a film may have begun again meanwhile."""
    deadline = time.monotonic() + SCREENSHOT_TIMEOUT
    while True:
        before = page.evaluate(STRIP) if options.strip else None
        page.screenshot(options.screenshot)
        if not options.strip or time.monotonic() > deadline:
            return
        after = page.evaluate(STRIP)
        if before is not None and after is not None and before <= after:
            return
        page.rest(0.1)
