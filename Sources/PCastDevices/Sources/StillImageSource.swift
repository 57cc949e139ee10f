import PCastCodecs
package import PCastCore

/// A still image as video at a constant rate.
package final class StillImageSource: VideoSource {
    private let image: VideoFrame
    private let frames: PacedVideo

    /// The file name extensions of still images.
    package static let extensions = [".png", ".jpg", ".jpeg"]

    /// Reads an image. It blocks until the image is decoded. An odd last column or row is left out.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - name: The name of the file for people.
    ///   - frameRate: The frame rate, 1 to 240.
    /// - Throws: `DeviceError.unreadable`, or `.noTrack` if the file contains no image.
    package init(_ path: String, name: String, frameRate: Int = 10) throws(DeviceError) {
        var found: VideoFrame?
        do {
            let reader = try MediaReader(uri: path, name: name, select: [.video])
            while found == nil, let item = try reader.next() {
                if case .video(let frame) = item { found = frame }
            }
        } catch {
            throw .unreadable(name, reason: "\(error)")
        }
        guard let found else { throw .noTrack(name, mediaType: "video") }
        image = EvenSizeCropper().even(found)
        frames = PacedVideo(dimensions: image.dimensions, frameRate: frameRate)
    }

    /// The size of the frames.
    package var dimensions: Dimensions { frames.dimensions }

    /// The frame rate in frames per second.
    package var nominalFrameRate: Double { Double(frames.frameRate) }

    /// Starts to deliver frames. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let image = image
        try frames.start(name: "still-image", deliver: deliver) { _, captureTime, timestamp in
            image.retimed(captureTime: captureTime, timestamp: timestamp)
        }
    }

    /// Stops delivery.
    package func stop() { frames.stop() }
}
