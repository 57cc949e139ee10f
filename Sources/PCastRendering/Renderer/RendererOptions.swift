public import PCastMedia

/// How a renderer presents a stream.
public struct RendererOptions: Sendable {
    /// Pictures at once, or in step with the sound.
    public var synchronization: MediaSynchronizer.Mode

    /// Whether latency and skew are read from the test signal; costs some microseconds a picture.
    public var measuresTestSignal: Bool

    /// The sound that encoder and decoder hold back together; taken out of the measured skew. Opus at 48 kHz: 6.5 ms
    /// (RFC 6716, section 2, look-ahead with the delay of its resampling).
    public var soundDecoderDelay: TimeSpan

    /// The PCM device of ALSA on which sound is played, such as `default`; nil for none.
    public var loudspeaker: String?

    public init(
        synchronization: MediaSynchronizer.Mode = .lipSync, measuresTestSignal: Bool = true,
        soundDecoderDelay: TimeSpan = .microseconds(6_500), loudspeaker: String? = nil
    ) {
        self.synchronization = synchronization
        self.measuresTestSignal = measuresTestSignal
        self.soundDecoderDelay = soundDecoderDelay
        self.loudspeaker = loudspeaker
    }
}
