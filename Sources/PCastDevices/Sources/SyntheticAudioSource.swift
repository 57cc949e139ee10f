package import PCastCore
import PCastIO

/// The clapper's tone and quiet noise in frames of 20 ms. Like those of a microphone, a frame is delivered at the time
/// of its last sample.
package final class SyntheticAudioSource: AudioSource {
    /// The number of channels, 1 or 2.
    package let channels: Int
    private let signal = ClapperSignal()
    private let pace = PacedThread()

    /// Creates a source with 1 or 2 channels, which are equal.
    package init(channels: Int = 2) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
    }

    /// Starts to deliver audio. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (signal, channels) = (signal, channels)
        let reference = MonotonicClock.reference()
        let origin = reference.wallTime
        // The number of the first sample since 1970.
        let (seconds, rest) = origin.nanosecondsSinceEpoch.quotientAndRemainder(dividingBy: 1_000_000_000)
        let first = seconds * Int64(AudioFrame.sampleRate) + ClockRate.opus.ticks(in: .nanoseconds(rest))
        try pace.start(
            name: "synthetic-audio", from: reference.instant, due: AudioFrameTiming.due, timeout: .seconds(1)
        ) {
            frameIndex, _ in
            let start = frameIndex * Int64(AudioFrameTiming.sampleCount)
            let samples = signal.samples(from: first + start, count: AudioFrameTiming.sampleCount, channels: channels)
            deliver(
                AudioFrame(
                    samples: samples, channels: channels, captureTime: origin + ClockRate.opus.span(ofTicks: start),
                    timestamp: MediaTime(ticks: start, rate: .opus)))
        }
    }

    /// Stops delivery.
    package func stop() { pace.stop() }
}
