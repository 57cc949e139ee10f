package import PCastCore

/// An audio source. It delivers frames of 20 ms at 48 kHz, each at the time of its last sample.
package protocol AudioSource: MediaSource where Sample == AudioFrame {
    /// The number of channels, 1 or 2.
    var channels: Int { get }
}

extension AudioSource {
    /// The source as a `MediaSource`. The compiler does not convert `any AudioSource` implicitly.
    var mediaSource: any MediaSource<AudioFrame> { self }
}
