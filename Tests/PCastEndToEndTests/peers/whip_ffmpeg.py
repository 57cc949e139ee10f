#!/usr/bin/env python3
"""Publishes FFmpeg's test picture and a 1 kHz tone by WHIP with FFmpeg's own `whip` muxer (FFmpeg 8 and later)."""

import program

program.require("imageio_ffmpeg", f"{program.environment()}/bin/python")

import re
import subprocess
import tempfile

import imageio_ffmpeg


def command(options):
    """Baseline without B-frames, a key frame each second: the muxer cannot be asked for one."""
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
    """What it has sent, by its own time."""
    microseconds = progress.get("out_time_us", "")
    return int(microseconds) / 1e6 if microseconds.isdigit() else 0


def follow(process, options):
    """Reads what FFmpeg tells of its progress until it ends, and ends it when it is enough; returns what it told last."""
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
    # It names the resource only in its complaint about DELETE, which it makes after a good answer too.
    resource = re.search(r"DELETE url=(\S+)", log)
    run.figures.update(
        exitStatus=process.returncode, framesSent=int(last.get("frame", 0)),
        mediaSent=dict(re.findall(r"\b(video|audio):(\d+KiB)", log)), resource=resource and resource[1],
        dtlsRole="active" if options.dtls_active else "passive", messages=problems[-5:])
    run.check("FFmpeg exited with 0", process.returncode == 0)
    run.check("it sent for as long as it should", seconds > options.seconds - 1)
    # Its time is that of what is furthest. Asked to end, it leaves sound and pictures up to a second apart.
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
