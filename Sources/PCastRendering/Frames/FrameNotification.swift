public import PCastCodecs
public import PCastMedia

/// A decoded picture before it is shown, in an application's hands (Phenix: `PhenixFrameNotification`): it may be looked
/// at, replaced or left out. It is of use only until the callback returns.
public final class FrameNotification {
    private let original: VideoFrame
    private let converter: RawPictureConverter
    private(set) var outcome: VideoFrame?

    init(_ frame: VideoFrame, converter: RawPictureConverter) {
        original = frame
        self.converter = converter
        outcome = frame
    }

    /// The picture as it was decoded, I420. It may be kept.
    public func read() -> VideoFrame { original }

    /// The picture's pixels in a format.
    ///
    /// - Throws: `CodecError` when they cannot be had.
    public func read(_ format: PixelBuffer.Format) throws(CodecError) -> PixelBuffer {
        try PixelBuffer(original, format: format)
    }

    /// Shows this picture instead, of any size, at the time of the other.
    public func write(_ frame: VideoFrame) {
        outcome = frame.retimed(captureTime: original.captureTime, timestamp: original.timestamp)
    }

    /// Shows these pixels instead.
    ///
    /// - Throws: `CodecError.damaged` when they are too few for a picture of that size.
    public func write(_ pixels: PixelBuffer) throws(CodecError) {
        outcome = try pixels.frame(like: original, by: converter)
    }

    /// Leaves the picture out.
    public func drop() { outcome = nil }
}

/// Told of each decoded picture, on a thread that decoding waits for.
public typealias FrameReadyCallback = @Sendable (FrameNotification) -> Void
