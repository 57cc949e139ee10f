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

extension AVFrameHolder {
    /// Lets libav look at a picture of ours; valid as long as that is.
    func wrap(_ frame: VideoFrame) {
        pointer.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        pointer.pointee.width = Int32(frame.dimensions.width)
        pointer.pointee.height = Int32(frame.dimensions.height)
        pointer.pointee.color_range = AVCOL_RANGE_MPEG
        pointer.pointee.data.0 = frame.planeY
        pointer.pointee.data.1 = frame.planeU
        pointer.pointee.data.2 = frame.planeV
        pointer.pointee.linesize.0 = Int32(frame.strideY)
        pointer.pointee.linesize.1 = Int32(frame.strideUV)
        pointer.pointee.linesize.2 = Int32(frame.strideUV)
    }
}
