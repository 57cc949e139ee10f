public import PCastCore

/// A sample of a video source.
public enum VideoSample: Sendable {
    case frame(VideoFrame)

    /// A frame that the camera or the file has encoded, without B-frames.
    case coded(EncodedFrame)
}
