package import PCastCodecs
package import PCastCore

/// A source of video or audio: a device, a file, or a generator.
package protocol MediaSource<Sample>: AnyObject, Sendable {
    associatedtype Sample: Sendable

    /// Starts to deliver samples. It can be called only once.
    ///
    /// - Parameters:
    ///   - deliver: A function that receives each sample on the source's thread. A device delivers a sample after its
    ///     capture. A file delivers it when its timestamp is due. The function must not block.
    ///   - ended: A function that receives the reason when the source ends, on the source's thread. It is called at most
    ///     once, and never after `stop`.
    /// - Throws: `DeviceError` if the source does not start.
    func start(
        deliver: @escaping @Sendable (Sample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError)

    /// Stops delivery, releases the device, and waits until a running callback has returned, except when a callback
    /// calls it. It may be called repeatedly and before `start`.
    func stop()
}

/// The reason why a source ended without being stopped.
package enum SourceEnd: Hashable, Sendable {
    /// A file was played to its end, or the publisher ended the stream.
    case ended

    /// The device disappeared for this reason, and may come back.
    case vanished(String)

    /// The device or the connection failed, for this reason.
    case failed(String)
}

/// An audio source. It delivers frames of 20 ms at 48 kHz, each at the time of its last sample.
package protocol AudioSource: MediaSource where Sample == AudioFrame {
    /// The number of channels, 1 or 2.
    var channels: Int { get }
}

extension AudioSource {
    /// The source as a `MediaSource`. The compiler does not convert `any AudioSource` implicitly.
    var mediaSource: any MediaSource<AudioFrame> { self }
}

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

/// A sample of a video source.
package enum VideoSample: Sendable {
    case frame(VideoFrame)

    /// A frame that the camera or the file has encoded, without B-frames.
    case coded(EncodedFrame)
}

/// A video source whose settings can change while it runs.
protocol AdjustableSource: AnyObject, Sendable {
    /// The reason for each capability that was unsatisfied when it was opened.
    var unmet: [DeviceCapability: String] { get }

    /// Applies flash mode, focus mode and focus target. The format does not change. Returns the reason for each
    /// capability that is unsatisfied.
    func apply(_ configuration: VideoConfiguration) -> [DeviceCapability: String]

    /// Requests a key frame from a device that encodes. Returns whether the device supports that.
    @discardableResult func requestKeyFrame() -> Bool
}

extension CameraSource: AdjustableSource {}
