public import PCastCodecs
public import PCastCore

/// A decoded frame before it is presented (Phenix: `PhenixFrameNotification`). An application can read, replace or drop
/// it. It is valid only until the callback returns.
public final class FrameNotification {
    private let original: VideoFrame
    private let converter: RawFrameConverter
    private(set) var outcome: VideoFrame?

    init(_ frame: VideoFrame, converter: RawFrameConverter) {
        original = frame
        self.converter = converter
        outcome = frame
    }

    /// Returns the decoded frame in I420. It may be kept after the callback.
    public func read() -> VideoFrame { original }

    /// Returns the frame's pixels in a format. Throws `CodecError` if they cannot be converted.
    public func read(_ format: PixelBuffer.Format) throws(CodecError) -> PixelBuffer {
        try PixelBuffer(original, format: format)
    }

    /// Presents another frame of any size instead, with the timestamps of the original.
    public func write(_ frame: VideoFrame) {
        outcome = frame.retimed(captureTime: original.captureTime, timestamp: original.timestamp)
    }

    /// Presents other pixels instead. Throws `CodecError.damaged` if the bytes are too few for their size.
    public func write(_ pixels: PixelBuffer) throws(CodecError) {
        outcome = try pixels.frame(like: original, by: converter)
    }

    /// Drops the frame.
    public func drop() { outcome = nil }
}

/// A callback for each decoded frame. It runs on the decoding thread, which waits for it.
public typealias FrameReadyCallback = @Sendable (FrameNotification) -> Void
