import PCastMedia

/// The frames of 20 ms that every audio source delivers.
enum SoundBeat {
    static let sampleCount = AudioFrame.sampleRate / 50

    /// When a frame is whole, since its source's origin.
    static func due(_ beat: Int64) -> TimeSpan { .milliseconds(20) * (beat + 1) }
}
