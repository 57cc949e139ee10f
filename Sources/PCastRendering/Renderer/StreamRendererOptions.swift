package import PCastCore

/// The options of a renderer.
package struct StreamRendererOptions: Sendable {
    /// Whether frames are presented at once or in sync with the audio.
    package var synchronization: MediaSynchronizer.Mode

    /// Whether latency and skew are measured from the test pattern. That costs some microseconds per frame.
    package var measuresTestSignal: Bool

    /// The audio delay of encoder and decoder together, which is subtracted from the measured skew. For Opus at 48 kHz
    /// it is 6.5 ms (look-ahead; RFC 6716, section 2).
    package var audioDecoderDelay: TimeSpan

    /// The ALSA device for the audio output, such as `default`; nil for none.
    package var audioDevice: String?

    /// Creates options.
    package init(
        synchronization: MediaSynchronizer.Mode = .lipSync, measuresTestSignal: Bool = true,
        audioDecoderDelay: TimeSpan = .microseconds(6_500), audioDevice: String? = nil
    ) {
        self.synchronization = synchronization
        self.measuresTestSignal = measuresTestSignal
        self.audioDecoderDelay = audioDecoderDelay
        self.audioDevice = audioDevice
    }
}
