import PCastCore

/// Adds the audio of several streams of one program by their times, in frames of 20 ms without gaps. It reads no clock;
/// the caller passes the time.
///
/// A frame is complete when every stream that delivers audio has passed its end. It is silent where none does.
struct ApplicationAudioMix {
    /// A frame of the mix.
    struct Frame {
        /// The samples, with interleaved channels.
        var samples: [Int16]
        /// The capture time of the first sample.
        var start: Instant
        /// The number of the first sample.
        var ticks: Int64
    }

    private struct Stream {
        /// The number after its last sample.
        var next: Int64
        /// The time at which audio was last received.
        var receivedAt: Instant
    }

    /// The time after which a stream without audio is no longer awaited, as while its program pauses.
    static let timeout = TimeSpan.milliseconds(200)

    /// The time by which silence follows the clock while no stream delivers audio.
    static let silenceDelay = TimeSpan.milliseconds(20)

    /// The most audio that is kept, for a stream whose times are ahead of the clock.
    static let longestLead = TimeSpan.seconds(2)

    /// The deviation of a stream's times that is ignored, because its own samples are contiguous.
    private static let tolerance = ClockRate.opus.ticks(in: .milliseconds(5))

    private let channels: Int
    private let origin: Instant
    /// The number of the first sample of the next frame.
    private var position: Int64 = 0
    /// The sums of samples from `position`.
    private var sums: [Int32] = []
    private var streams: [UInt32: Stream] = [:]

    /// Creates a mix whose first sample is captured at `start`.
    init(channels: Int, start: Instant) {
        self.channels = channels
        origin = start
    }

    /// Adds audio of a stream with interleaved channels. Audio of frames that were returned is dropped, and audio that is
    /// too far ahead.
    mutating func add(_ samples: [Int16], from start: Instant, of stream: UInt32, at now: Instant) {
        let expected = ClockRate.opus.ticks(in: start - origin)
        var first = expected
        if let next = streams[stream]?.next, abs(expected - next) <= Self.tolerance { first = next }
        let end = first + Int64(samples.count / channels)
        guard end - position <= ClockRate.opus.ticks(in: Self.longestLead) else { return }
        streams[stream] = Stream(next: end, receivedAt: now)
        guard end > position else { return }
        let skipped = Int(max(0, position - first)) * channels
        let offset = Int(max(0, first - position)) * channels - skipped
        let count = offset + samples.count
        if sums.count < count { sums.append(contentsOf: repeatElement(0, count: count - sums.count)) }
        for index in skipped..<samples.count { sums[offset + index] += Int32(samples[index]) }
    }

    /// Removes a stream that has ended.
    mutating func remove(_ stream: UInt32) { streams[stream] = nil }

    /// Returns the next frame; nil if it is incomplete.
    mutating func next(at now: Instant) -> Frame? {
        let end = position + Int64(AudioFrameTiming.sampleCount)
        let awaited = streams.values.filter { now - $0.receivedAt < Self.timeout }
        guard awaited.isEmpty else { return awaited.allSatisfy { $0.next >= end } ? take() : nil }
        let due = time(of: end) + Self.silenceDelay
        guard now >= due else { return nil }
        // After a long interruption, such as that of a suspended machine, whole frames are left out.
        if now - due > Self.longestLead, sums.isEmpty {
            let count = Int64(AudioFrameTiming.sampleCount)
            position += ClockRate.opus.ticks(in: now - due) / count * count
        }
        return take()
    }

    private func time(of ticks: Int64) -> Instant { origin + ClockRate.opus.span(ofTicks: ticks) }

    private mutating func take() -> Frame {
        let count = AudioFrameTiming.sampleCount * channels
        let available = min(count, sums.count)
        var samples = sums[..<available].map { Int16(clamping: $0) }
        samples.append(contentsOf: repeatElement(0, count: count - available))
        sums.removeFirst(available)
        defer { position += Int64(AudioFrameTiming.sampleCount) }
        return Frame(samples: samples, start: time(of: position), ticks: position)
    }
}
