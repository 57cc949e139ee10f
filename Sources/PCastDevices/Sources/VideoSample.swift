public import PCastMedia

/// What a source of pictures delivers.
public enum VideoSample: Sendable {
    case picture(VideoFrame)

    /// Already coded by the camera or the file, without B-frames: passed through, or decoded by whom it does not suit.
    case coded(EncodedFrame)
}
