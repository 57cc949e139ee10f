import Foundation
import PCastCodecs
package import PCastCore
import PCastIO
import Synchronization

/// The audio of a rendered page, which is mixed with that of a ``PlaybackCapture``.
///
/// A second page of the same browser captures the audio of the first one with `getDisplayMedia()`, and reports it in
/// pieces of about 10 ms with their times. Each piece is due ``PageTiming/delay`` after the page has played it, as the
/// page's images are.
final class PageAudio: Sendable {
    private let capture: PlaybackCapture
    private let state = Mutex<PageAudioTimeline?>(PageAudioTimeline())

    /// Begins to mix. Throws an error if the thread for that cannot be created.
    init(over capture: PlaybackCapture) throws(IOError) {
        self.capture = capture
        try capture.beginMixing()
    }

    /// Mixes in a piece of audio that has arrived. A report that is not valid is ignored.
    func take(_ report: String, at arrival: Instant) {
        guard let piece = PageAudioPiece(report) else { return }
        // The lock is held, because pieces must stay in order.
        state.withLock { timeline in
            guard let (audio, played) = timeline?.take(piece, at: arrival) else { return }
            capture.mix(audio, at: played + PageTiming.delay)
        }
    }

    /// Ends mixing. It has no effect when it is called again.
    func end() {
        let isFirst = state.withLock { timeline in
            defer { timeline = nil }
            return timeline != nil
        }
        if isFirst { capture.endMixing() }
    }
}

/// The timing of a rendered page.
enum PageTiming {
    /// The time from drawing or playing in the browser to its presentation over the content. It is longer than the
    /// transfer of an image takes, so that images and audio of a page are in sync.
    static let delay = TimeSpan.milliseconds(200)

    /// Returns the delay that remains for an image which the browser has drawn at `drawn`. It is between zero and
    /// ``delay``, also if the system's clock was set meanwhile.
    static func remaining(of drawn: WallTime?, at now: WallTime) -> TimeSpan {
        guard let age = drawn.flatMap({ now.span(since: $0) }) else { return .zero }
        return min(max(delay - max(age, .zero), .zero), delay)
    }
}

/// A piece of audio as the capturing page reports it: `TIME RATE CHANNELS FRAMES [SAMPLES]`, with the time of the first
/// frame in microseconds, and the samples as 16-bit little-endian integers in Base64. Silence has no samples.
package struct PageAudioPiece: Hashable, Sendable {
    /// The maximum number of frames in a piece.
    static let maximumFrames = 9_600

    /// The time of the first frame by the clock of the capture, in microseconds.
    package var time: Int64
    /// The sample rate in hertz.
    package var rate: Int
    /// The number of channels, 1 or 2.
    package var channels: Int
    /// The number of samples per channel.
    package var frames: Int
    /// The interleaved samples; empty for silence.
    package var samples: [Int16]

    /// Parses a report; nil if it is not valid.
    package init?(_ report: String) {
        let limit = 64 + Self.maximumFrames * 2 * 2 * 4 / 3 + 4
        guard report.utf8.count <= limit else { return nil }
        let fields = report.split(separator: " ", omittingEmptySubsequences: false)
        // The time is less than 31 years, so that calculations with it cannot overflow.
        guard (4...5).contains(fields.count), let time = Int64(fields[0]), (0...1_000_000_000_000_000).contains(time),
            let rate = Int(fields[1]), (8_000...192_000).contains(rate), let channels = Int(fields[2]),
            (1...2).contains(channels), let frames = Int(fields[3]), (1...Self.maximumFrames).contains(frames)
        else { return nil }
        (self.time, self.rate, self.channels, self.frames, samples) = (time, rate, channels, frames, [])
        guard fields.count == 5 else { return }
        guard let bytes = Data(base64Encoded: String(fields[4])), bytes.count == frames * channels * 2 else {
            return nil
        }
        samples = bytes.withUnsafeBytes { bytes in
            (0..<frames * channels).map { index in
                Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 2, as: Int16.self))
            }
        }
    }

    /// The duration.
    var length: TimeSpan { TimeSpan(nanoseconds: Int64(frames) * 1_000_000_000 / Int64(rate)) }
}

/// Converts the pieces of a page's audio to 48 kHz, and their times to those of this process.
package struct PageAudioTimeline {
    /// Audio without a gap.
    private struct Run {
        var resampler: FractionalResampler
        var rate: Int
        /// The time by the capture's clock at which the next piece is expected, in nanoseconds.
        var expected: Int64
        /// The time at which the first sample was played.
        var start: Instant
        /// The number of samples per channel at 48 kHz so far.
        var made: Int64 = 0
    }

    /// The deviation of a piece from its expected time which begins another run.
    private static let tolerance = TimeSpan.milliseconds(20)

    private var clock = PageAudioClock()
    private var run: Run?
    /// The resampler of the last run, which the next one of the same format uses; nil while it is in use.
    private var spare: (resampler: FractionalResampler, rate: Int)?

    /// Creates a timeline without audio.
    package init() {}

    /// Returns the audio of a piece, at 48 kHz, and the time at which the page has played its first sample; nil for
    /// silence. `arrival` is the time at which the piece has arrived, after its end.
    package mutating func take(_ piece: PageAudioPiece, at arrival: Instant) -> (audio: AudioFrame, played: Instant)? {
        let time = piece.time * 1_000
        let offset = clock.offset(of: time + piece.length.nanoseconds, at: arrival)
        guard !piece.samples.isEmpty else {
            endRun()
            return nil
        }
        let played = Instant(nanoseconds: time + offset)
        if let current = run {
            let due = current.start + ClockRate.opus.span(ofTicks: current.made)
            let isContinuous =
                current.rate == piece.rate && current.resampler.channels == piece.channels
                && abs(current.expected - time) <= Self.tolerance.nanoseconds
                && (due - played).magnitude <= Self.tolerance + .milliseconds(5)
            if !isContinuous { endRun() }
        }
        let step = Double(piece.rate) / Double(AudioFrame.sampleRate)
        var run: Run
        if let current = self.run {
            run = current
        } else {
            run = Run(resampler: resampler(for: piece, step), rate: piece.rate, expected: time, start: played)
        }
        // The samples are not shared while they change.
        self.run = nil
        run.expected = time + piece.length.nanoseconds
        let input = piece.samples.map { Float($0) }
        input.withUnsafeBufferPointer { run.resampler.append($0) }
        let position = Double(run.made) * step
        let count = max(0, Int(((run.resampler.lastPosition - position) / step).rounded(.down)))
        var output = [Float](repeating: 0, count: count * piece.channels)
        if count > 0 {
            output.withUnsafeMutableBufferPointer { run.resampler.read(from: position, step: step, into: $0) }
        }
        let start = run.start + ClockRate.opus.span(ofTicks: run.made)
        run.made += Int64(count)
        run.resampler.discard(before: Double(run.made) * step)
        self.run = run
        guard count > 0 else { return nil }
        let audio = AudioFrame(
            samples: output.map { Int16(clamping: Int($0.rounded())) }, channels: piece.channels, captureTime: nil,
            timestamp: MediaTime(ticks: run.made - Int64(count), rate: .opus))
        return (audio, start)
    }

    private mutating func endRun() {
        if let run { spare = (run.resampler, run.rate) }
        run = nil
    }

    /// Returns a resampler without input. The weights of a new one take milliseconds.
    private mutating func resampler(for piece: PageAudioPiece, _ step: Double) -> FractionalResampler {
        defer { spare = nil }
        guard let (resampler, rate) = spare, rate == piece.rate, resampler.channels == piece.channels else {
            return FractionalResampler(channels: piece.channels, step: step)
        }
        var known = resampler
        known.restart()
        return known
    }
}

/// The difference between the clock of this process and that of a capture. A piece arrives late by the time of its
/// transfer, so the difference is that of the fastest piece of the last three to six seconds.
struct PageAudioClock: Sendable {
    private static let span = TimeSpan.seconds(3 as Int64)
    /// A deviation which means that the clock of the capture has begun again.
    private static let jump: Int64 = 500_000_000

    private var current: (offset: Int64, since: Instant)?
    private var previous: Int64?

    /// Creates the difference of clocks that are not known yet.
    init() {}

    /// Returns the difference in nanoseconds: the time of this process minus that of the capture. `end` is the end of a
    /// piece by the clock of the capture, in nanoseconds, and `arrival` the time of its arrival.
    mutating func offset(of end: Int64, at arrival: Instant) -> Int64 {
        let offset = arrival.nanoseconds - end
        if let least = least, abs(offset - least) > Self.jump { (current, previous) = (nil, nil) }
        guard let current else {
            self.current = (offset, arrival)
            return offset
        }
        if arrival - current.since > Self.span {
            (previous, self.current) = (current.offset, (offset, arrival))
        } else {
            self.current = (min(current.offset, offset), current.since)
        }
        return least ?? offset
    }

    private var least: Int64? {
        guard let current else { return nil }
        return min(current.offset, previous ?? current.offset)
    }
}

/// The page that captures the audio of another one in the same browser.
enum PageAudioCapture {
    /// The function of the page that receives its reports.
    static let binding = "pcastAudio"

    /// The document. Its function `begin()` returns an empty text, or the reason why there is no audio.
    ///
    /// The samples are those that Chromium would play, so it does not play them itself. Video must be requested, and is
    /// disabled. Silence is reported ten times a second, which keeps the clocks compared.
    static let document = """
        <!doctype html><meta charset="utf-8"><title>capture</title><script>
        const report = globalThis.\(binding);
        async function begin() {
          const late = new Promise((_, reject) => setTimeout(() => reject(new Error("it does not respond")), 10000));
          try {
            const stream = await Promise.race([late, navigator.mediaDevices.getDisplayMedia({
              audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false, channelCount: 2,
                suppressLocalAudioPlayback: true },
              video: { width: 16, height: 16, frameRate: 1 } })]);
            for (const track of stream.getVideoTracks()) track.enabled = false;
            const [track] = stream.getAudioTracks();
            if (!track) return "the browser captures no audio";
            follow(new MediaStreamTrackProcessor({ track }).readable.getReader());
            globalThis.captured = stream;
            return "";
          } catch (error) {
            return `${error.name}: ${error.message}`;
          }
        }
        async function follow(reader) {
          let silent = 0;
          for (;;) {
            const { value, done } = await reader.read();
            if (done) return;
            const { timestamp, sampleRate, numberOfFrames, numberOfChannels } = value;
            const channels = Math.min(numberOfChannels, 2);
            const samples = new DataView(new ArrayBuffer(numberOfFrames * channels * 2));
            const plane = new Float32Array(numberOfFrames);
            let isSilent = true;
            for (let channel = 0; channel < channels; channel++) {
              value.copyTo(plane, { planeIndex: channel, format: "f32-planar" });
              for (let index = 0; index < numberOfFrames; index++) {
                const sample = Math.max(-32768, Math.min(32767, Math.round(plane[index] * 32767)));
                if (sample) isSilent = false;
                samples.setInt16((index * channels + channel) * 2, sample, true);
              }
            }
            value.close();
            const head = `${Math.max(0, Math.round(timestamp))} ${sampleRate} ${channels} ${numberOfFrames}`;
            if (isSilent) {
              if (silent++ % 10 === 0) report(head);
              continue;
            }
            silent = 0;
            let bytes = "";
            for (let index = 0; index < samples.byteLength; index++) {
              bytes += String.fromCharCode(samples.getUint8(index));
            }
            report(`${head} ${btoa(bytes)}`);
          }
        }
        </script>
        """
}
