package import PCastCore

/// A sample of a video source.
package enum VideoSample: Sendable {
    case frame(VideoFrame)

    /// A frame that the camera or the file has encoded, without B-frames.
    case coded(EncodedFrame)
}
