package import PCastCore
import PCastIO

/// Silence in frames of 20 ms.
package final class NullAudioSource: AudioSource {
    /// The number of channels, 1 or 2.
    package let channels: Int
    private let pace = PacedThread()

    /// Creates a source with 1 or 2 channels.
    package init(channels: Int = 2) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
    }

    /// Starts to deliver silence. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let channels = channels
        let reference = MonotonicClock.reference()
        let origin = reference.wallTime
        let silence = [Int16](repeating: 0, count: AudioFrameTiming.sampleCount * channels)
        try pace.start(name: "null-audio", from: reference.instant, due: AudioFrameTiming.due, timeout: .seconds(1)) {
            frameIndex, _ in
            let start = frameIndex * Int64(AudioFrameTiming.sampleCount)
            deliver(
                AudioFrame(
                    samples: silence, channels: channels, captureTime: origin + ClockRate.opus.span(ofTicks: start),
                    timestamp: MediaTime(ticks: start, rate: .opus)))
        }
    }

    /// Stops delivery.
    package func stop() { pace.stop() }
}
