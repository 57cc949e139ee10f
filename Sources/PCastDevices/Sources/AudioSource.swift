public import PCastMedia

/// Where sound comes from. Frames of 20 ms at 48 kHz, delivered when their last sample is due.
public protocol AudioSource: MediaSource where Sample == AudioFrame {
    /// 1 or 2.
    var channels: Int { get }
}

extension AudioSource {
    /// As what it is beside a source of sound: the compiler does not convert an `any AudioSource` by itself.
    var mediaSource: any MediaSource<AudioFrame> { self }
}
