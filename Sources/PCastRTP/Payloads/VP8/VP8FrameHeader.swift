package import PCastCore

/// The header of a VP8 key frame (RFC 6386, section 9.1).
package struct VP8FrameHeader: Hashable, Sendable {
    /// The size of the video.
    package let dimensions: Dimensions

    /// Parses a VP8 frame without payload descriptor. Returns nil if it does not begin a key frame or has no size.
    package init?(keyFrame frame: Span<UInt8>) {
        guard frame.count >= 10, frame[0] & 1 == 0, frame[3] == 0x9D, frame[4] == 0x01, frame[5] == 0x2A else {
            return nil
        }
        // The upper two bits of width and height are a scaling hint.
        let width = Int(frame[6]) | Int(frame[7] & 0x3F) << 8
        let height = Int(frame[8]) | Int(frame[9] & 0x3F) << 8
        guard width > 0, height > 0 else { return nil }
        dimensions = Dimensions(width: width, height: height)
    }
}
