"""Checks the decoded media of a viewer: whether the video changes and whether there is audio."""

import array
import math

WIDTH, HEIGHT = 64, 36
"""The size at which the luma of frames is compared."""


class FrameJudge:
    """Counts frames and measures the mean change of luma (0...255) between consecutive frames."""

    def __init__(self):
        self.frames = 0
        self.size = None
        self._changes = 0.0
        self._last = None
        self._luma = 0.0

    def take(self, luma, width, height):
        """Adds the luma of a frame, scaled to WIDTH by HEIGHT, and its decoded size."""
        self.frames += 1
        self.size = (width, height)
        self._luma += sum(luma) / len(luma)
        if self._last is not None:
            self._changes += sum(abs(a - b) for a, b in zip(luma, self._last)) / len(luma)
        self._last = luma

    def has(self, seconds):
        """Whether as many frames were decoded as a slow stream has in so many seconds."""
        return self.frames >= 10 * seconds

    def report(self, run, seconds):
        """Writes the metrics and checks that frames arrived and changed."""
        change = self._changes / max(1, self.frames - 1)
        run.figures.update(
            framesDecoded=self.frames, framesPerSecond=round(self.frames / seconds, 1), size=self.size,
            meanLuma=round(self._luma / max(1, self.frames), 1), meanLumaChange=round(change, 3))
        run.check("enough frames were decoded", self.has(seconds))
        run.check("the picture moves", change > 0.05)


class AudioJudge:
    """Measures the root mean square of 16-bit samples (full scale is 1), overall and of the loudest frame."""

    def __init__(self):
        self.frames = 0
        self.peak = 0.0
        self._squares = 0.0
        self._samples = 0

    def take(self, samples):
        """Adds the bytes of an audio frame."""
        values = array.array("h")
        values.frombytes(samples[:len(samples) // 2 * 2])
        if not values:
            return
        squares = sum(value * value for value in values)
        self.frames += 1
        self._squares += squares
        self._samples += len(values)
        self.peak = max(self.peak, math.sqrt(squares / len(values)) / 32768)

    def has(self, seconds):
        """Whether nearly all frames of so many seconds were decoded, of 20 ms each."""
        return self.frames >= 40 * seconds

    def report(self, run, seconds):
        """Writes the metrics and checks that audio arrived and was not silent."""
        mean = math.sqrt(self._squares / max(1, self._samples)) / 32768
        run.figures.update(audioFrames=self.frames, audioRMS=round(mean, 5), audioPeakRMS=round(self.peak, 5))
        run.check("enough frames of sound were decoded", self.has(seconds))
        run.check("there is sound", self.peak > 0.005)


def report(run, viewer, started, seconds):
    """Reports the time of the first frame, and the judgements of both tracks of a viewer."""
    if viewer.first_frame is not None:
        run.figures["firstFrameMilliseconds"] = round((viewer.first_frame - started) * 1000)
    viewer.picture.report(run, seconds)
    viewer.sound.report(run, seconds)
