public import PCastCodecs
public import PCastMedia

/// Where pictures come from.
public protocol VideoSource: MediaSource where Sample == VideoSample {
    /// The size of its pictures; those of a stream may change later.
    var dimensions: Dimensions { get }

    /// Pictures a second as the source says; a camera in the dark makes fewer (COD7), so nothing is timed by it.
    var nominalFrameRate: Double { get }

    /// Why pictures that came coded are decoded although they were to be passed through; nil as long as they are, and
    /// where there is nothing to pass.
    var passThroughObstacle: PassThroughObstacle? { get }
}

extension VideoSource {
    /// As what it is beside a source of pictures: the compiler does not convert an `any VideoSource` by itself.
    var mediaSource: any MediaSource<VideoSample> { self }

    public var passThroughObstacle: PassThroughObstacle? { nil }
}
