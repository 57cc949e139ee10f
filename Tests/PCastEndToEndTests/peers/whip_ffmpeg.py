#!/usr/bin/env python3
"""Publishes FFmpeg's test pattern and a 1 kHz tone by WHIP with FFmpeg's `whip` muxer (FFmpeg 8 and later)."""

import program

program.require(f"{program.environment()}/bin/python", "imageio_ffmpeg")

import re
import subprocess
import tempfile

import imageio_ffmpeg


def command(options):
    """Returns the command: Baseline without B-frames, and a key frame per second because the muxer handles no PLI."""
    sources = ["-re", "-f", "lavfi", "-i", f"testsrc2=size={options.size}:rate=30",
               "-f", "lavfi", "-i", "sine=frequency=1000:sample_rate=48000"]
    video = ["-c:v", "libx264", "-profile:v", "baseline", "-preset", "ultrafast", "-tune", "zerolatency", "-bf", "0",
             "-g", "30", "-b:v", "1500k", "-maxrate", "1500k", "-bufsize", "750k", "-pix_fmt", "yuv420p"]
    audio = ["-c:a", "libopus", "-ar", "48000", "-ac", "2", "-b:a", "64k"]
    output = ["-f", "whip"] if options.until_told else ["-t", str(options.seconds), "-f", "whip"]
    if options.token:
        output += ["-authorization", options.token]
    if options.dtls_active:
        output += ["-whip_flags", "dtls_active"]
    listening = [] if options.until_told else ["-nostdin"]
    return [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", *listening, "-loglevel", "info", "-progress", "pipe:1",
            *sources, *video, *audio, *output, options.url]


def media_seconds(progress):
    """Returns the sent duration by FFmpeg's own time."""
    microseconds = progress.get("out_time_us", "")
    return int(microseconds) / 1e6 if microseconds.isdigit() else 0


def follow(process, options):
    """Reads the progress reports of FFmpeg and ends it when the time has passed. Returns the last report."""
    last, is_ended = {}, False
    for line in process.stdout:
        name, _, value = line.strip().partition("=")
        last[name] = value.strip()
        if options.until_told and not is_ended and media_seconds(last) > options.seconds:
            is_ended = not program.goes_on(options, 0)
            if is_ended:
                process.stdin.write("q")
                process.stdin.flush()
    process.wait()
    return last


def publish(run, options):
    with tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen(
            command(options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True)
        try:
            last = follow(process, options)
        finally:
            process.kill()
        messages.seek(0)
        log = messages.read()
    seconds = media_seconds(last)
    complaint = re.compile(r"error|fail|invalid|could not", re.IGNORECASE)
    problems = [line for line in log.splitlines() if complaint.search(line)]
    # FFmpeg names the resource only in its error message about DELETE, which it also prints after success.
    resource = re.search(r"DELETE url=(\S+)", log)
    run.figures.update(
        exitStatus=process.returncode, framesSent=int(last.get("frame", 0)),
        mediaSent=dict(re.findall(r"\b(video|audio):(\d+KiB)", log)), resource=resource and resource[1],
        dtlsRole="active" if options.dtls_active else "passive", messages=problems[-5:])
    run.check("FFmpeg exited with 0", process.returncode == 0)
    run.check("it sent for as long as it should", seconds > options.seconds - 1)
    # FFmpeg's time is that of the most advanced track. At its end, audio and video may differ by up to a second.
    sent = seconds - 1 if options.until_told else options.seconds
    run.check("every frame was sent", run.figures["framesSent"] >= 28 * sent)


def main():
    parser = program.arguments(__doc__, "WHIP endpoint")
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--dtls-active", action="store_true", help="be the DTLS client; otherwise it is the server")
    options = parser.parse_args()
    run = program.Program(f"FFmpeg {imageio_ffmpeg.get_ffmpeg_version()}", options.seconds)
    run.run(lambda: publish(run, options))


if __name__ == "__main__":
    main()
