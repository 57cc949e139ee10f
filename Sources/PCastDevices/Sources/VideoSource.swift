package import PCastCodecs
package import PCastCore

/// A video source.
package protocol VideoSource: MediaSource where Sample == VideoSample {
    /// The size of its frames. It can change for an address.
    var dimensions: Dimensions { get }

    /// The frame rate that the source reports, in frames per second. It does not control timing, because cameras
    /// deliver fewer frames in the dark.
    var nominalFrameRate: Double { get }

    /// The reason why encoded frames are decoded although pass-through was requested; nil while they are passed
    /// through, or if the source does not encode.
    var transcodeReason: TranscodeReason? { get }
}

extension VideoSource {
    /// The source as a `MediaSource`. The compiler does not convert `any VideoSource` implicitly.
    var mediaSource: any MediaSource<VideoSample> { self }

    /// nil, for a source that does not encode.
    package var transcodeReason: TranscodeReason? { nil }
}
