import CFFmpeg
public import PCastMedia

/// Scales pictures. Used by one thread at a time.
public final class PictureScaler {
    private let converter = PictureConverter()
    private let picture = AVFrameHolder()

    public init() {}

    /// The picture at another size; the same picture when it has that size already.
    ///
    /// - Parameter dimensions: both even.
    public func scale(_ frame: VideoFrame, to dimensions: Dimensions) throws(CodecError) -> VideoFrame {
        guard frame.dimensions != dimensions else { return frame }
        picture.wrap(frame)
        return try converter.convert(
            picture.pointer, to: dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp)
    }
}
