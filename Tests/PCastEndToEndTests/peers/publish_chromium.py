#!/usr/bin/env python3
"""Opens /publish in headless Chromium with its fake camera and microphone, and measures what it sends by WHIP."""

import json
import urllib.parse

import chromium
import outage
import page_program
import program


# Changes the layers and the size of the camera, which the page does not offer to choose.
SOURCE = """(() => {
    const { mode, size } = OPTIONS;
    const { addTransceiver } = RTCPeerConnection.prototype;
    if (mode) RTCPeerConnection.prototype.addTransceiver = function (track, options) {
        const isVideo = track.kind === "video";
        const sendEncodings = options.sendEncodings.map((each) => ({ ...each, ...(isVideo && { scalabilityMode: mode }) }));
        return addTransceiver.call(this, track, { ...options, sendEncodings });
    };
    if (!size || !navigator.mediaDevices) return;
    const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
    navigator.mediaDevices.getUserMedia = ({ video, ...others }) =>
        open({ ...others, video: video && { ...video, width: { exact: size[0] }, height: { exact: size[1] } } });
})()"""


def source(options):
    size = [int(number) for number in options.size.split("x")] if options.size else None
    return SOURCE.replace("OPTIONS", json.dumps({"mode": options.scalability_mode, "size": size}))


def address(options):
    """The page's address with the codec in its query, and the token in its fragment."""
    page = urllib.parse.urlsplit(options.url)
    query = "&".join(filter(None, [page.query, urllib.parse.urlencode({"codec": options.codec})]))
    token = f"token={urllib.parse.quote(options.token, safe='')}" if options.token else page.fragment
    return page._replace(query=query, fragment=token).geturl()


def measure(run, page, seconds):
    """Reads the statistics before and after `seconds`, and writes the difference."""
    # The codec is known when a frame was sent.
    page.await_frames("outbound", "framesSent", 1)
    before = page.evaluate("pcastStatistics()")
    page.rest(seconds)
    after = page.evaluate("pcastStatistics()")
    video, audio = (after["media"].get(f"outbound-rtp-{kind}", {}) for kind in ("video", "audio"))
    earlier = before["media"].get("outbound-rtp-video", {})
    reported = after["media"].get("remote-inbound-rtp-video", {})

    def grown(field):
        return video.get(field, 0) - earlier.get(field, 0)

    run.figures.update(
        connectionState=after["state"], srtpCipher=after["srtpCipher"], tlsVersion=after["tlsVersion"],
        dtlsState=after["dtlsState"], protocol=after["protocol"], remoteAddress=after["remoteAddress"],
        videoCodec=video.get("codec"), audioCodec=audio.get("codec"), encoder=video.get("encoderImplementation"),
        scalabilityMode=video.get("scalabilityMode"),
        size=[video.get("frameWidth"), video.get("frameHeight")],
        framesEncoded=video.get("framesEncoded", 0), framesEncodedMeasured=grown("framesEncoded"),
        framesPerSecond=video.get("framesPerSecond"), keyFramesEncoded=video.get("keyFramesEncoded"),
        bytesSent=video.get("bytesSent", 0), audioBytesSent=audio.get("bytesSent", 0),
        bitrate=round(grown("bytesSent") * 8 / seconds), targetBitrate=video.get("targetBitrate"),
        retransmittedPacketsSent=video.get("retransmittedPacketsSent"), nackCount=video.get("nackCount"),
        pliCount=video.get("pliCount"), qualityLimitationReason=video.get("qualityLimitationReason"),
        packetsLostReported=reported.get("packetsLost"),
        roundTripMilliseconds=None if reported.get("roundTripTime") is None
        else round(reported["roundTripTime"] * 1000, 2))
    # A busy machine takes longer for so much, and may lose its connection for a moment.
    page.await_frames("outbound", "framesSent", earlier.get("framesSent", 0) + round(10 * seconds))
    page.wait("pcastStatistics().then(({ media }) => media['outbound-rtp-audio']?.bytesSent > 0)", 60, "audio to be sent")
    page.wait("pcastStatistics().then((now) => now.state === 'connected')", 60, "the connection")
    run.check("the connection stayed", page.evaluate("pcastStatistics()")["connections"] == before["connections"])
    run.check(f"the codec is {run.figures['codecAsked']}",
              (video.get("codec") or "").lower() == f"video/{run.figures['codecAsked']}".lower())


def publish(run, options):
    run.figures["codecAsked"] = options.codec
    with chromium.Chromium(*options.flag) as browser:
        run.figures["peer"] = browser.version
        page = browser.page(page_program.hook() + source(options))
        try:
            page.open(address(options))
            page.wait("!document.getElementById('publish').disabled", options.join, "the camera")
            page.click("#publish")
            state = "document.getElementById('state').textContent"
            page.wait(f"['publishing', 'refused', 'failed'].includes({state})", options.join, "the page to publish")
            if page.evaluate(state) != "publishing":
                raise chromium.BrowserError(page.text("#message"))
            link = page.wait("document.getElementById('watch').href", 60, "the link to watch")
            run.figures.update(
                connectMilliseconds=page.evaluate("Math.round(performance.now())"), watch=link,
                streamID=urllib.parse.unquote(urllib.parse.urlsplit(link).path.split("/")[2]))
            print(f"streamID {run.figures['streamID']}", flush=True)
            if options.restart:
                link = outage.republish(page)
                run.figures.update(
                    watch=link, formerStreamID=run.figures["streamID"],
                    streamID=urllib.parse.unquote(urllib.parse.urlsplit(link).path.split("/")[2]))
                run.check("nothing is left to be said", page.evaluate("document.getElementById('message').hidden"))
            if options.outage:
                outage.sit_out(run, page, "outbound", "framesSent")
            measure(run, page, options.seconds)
            print(json.dumps({"event": "measured"}), flush=True)
            while program.goes_on(options, 0):
                page.rest(0.1)
        finally:
            page_program.end(run, page, options)
        # The console contains the requests that failed during the outage.
        run.check("no errors in the console", options.outage or options.restart or not page.problems)
        page.click("#stop")
        page.wait(f"{state} == 'not publishing'", 60, "the page to stop")
        page.rest(0.3)


def main():
    parser = page_program.arguments(
        __doc__, "the page, http://HOST/publish", "publishes", "seconds within which it must be publishing")
    parser.add_argument("--codec", choices=["H264", "VP8", "VP9", "AV1"], default="H264")
    parser.add_argument("--scalability-mode", metavar="MODE", help="layers in one SSRC, such as L3T3_KEY")
    parser.add_argument("--size", metavar="WIDTHxHEIGHT", help="the size of the camera's frames")
    page_program.main(parser, publish)


if __name__ == "__main__":
    main()
