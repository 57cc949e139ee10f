import PCastCore

/// The frames of 20 ms that every audio source delivers.
enum AudioFrameTiming {
    static let sampleCount = AudioFrame.sampleRate / 50

    /// Returns the time at which a frame is complete, since the origin of its source.
    static func due(_ frameIndex: Int64) -> TimeSpan { .milliseconds(20) * (frameIndex + 1) }
}
