public import PCastCodecs
public import PCastCore
public import PCastDevices
import PCastIO

/// The video and audio of this machine's sources (Phenix: `PhenixUserMediaStream`).
///
/// The sources run from the first publication of the ``mediaStream`` until they end or ``stop()`` is called. An
/// unplugged device becomes black and silent at once, and resumes when it is plugged in again. It fails the stream
/// after `VideoInput.timeout`.
public final class UserMediaStream: Sendable {
    /// The stream to publish.
    public let mediaStream: MediaStream

    private let media: LocalMedia

    init(_ media: LocalMedia) {
        self.media = media
        mediaStream = MediaStream(local: media)
    }

    // MARK: Sources

    /// The present dimensions of the source's frames, upright; nil without video.
    public var dimensions: Dimensions? { media.video?.dimensions }

    /// The selected camera or other video source, with the mode in which it was opened and the reason; nil without
    /// video, and for a file or an address.
    public var videoSelection: VideoSelection? { media.video?.selection }

    /// The selected microphone or other audio source, with the mode in which it was opened and the reason; nil without
    /// audio, and for a file or an address.
    public var audioSelection: AudioSelection? { media.audio?.selection }

    /// The unsatisfied ideal constraints, each with a reason for people.
    public var unmet: [DeviceCapability: String] {
        (media.video?.unmet ?? [:]).merging(media.audio?.unmet ?? [:]) { video, _ in video }
    }

    /// Whether the video source is open. An on-demand source is closed while it has no subscribers, and an unplugged
    /// one is closed too.
    public var isVideoOpen: Bool { media.video?.isOpen ?? false }

    /// Whether the audio source is open. An on-demand source is closed while it has no subscribers, and an unplugged
    /// one is closed too.
    public var isAudioOpen: Bool { media.audio?.isOpen ?? false }

    // MARK: Changes

    /// Changes the sources while the stream runs (Phenix: `applyOptions`).
    ///
    /// Controls such as the flash change at once. Dimensions and frame rates change by opening the device again, and
    /// another camera replaces the present one. Viewers receive the new dimensions. If the options are unavailable, the
    /// source does not change. Tracks are neither added nor removed, and a file or an address is kept.
    ///
    /// - Parameter options: The new options.
    /// - Returns: The unsatisfied ideal constraints, each with a reason for people.
    /// - Throws: ``PCastError`` with the status `conflict` for a device in use by another program, and `badRequest` for
    ///   a change that is not supported. The status is `failed` for a required constraint that is unsatisfied, or a
    ///   device that is not there.
    @discardableResult
    public func applyOptions(_ options: UserMediaOptions) async throws(PCastError) -> [DeviceCapability: String] {
        let media = media
        try await DeviceThread.run { () throws(DeviceError) in try media.apply(options) }
        return unmet
    }

    /// Sets the clockwise rotation of the device while the application's user interface is upright.
    /// `VideoSourceRotationMode.followUIRotation` and, without an accelerometer, `automatic` use it.
    public func setUserInterfaceRotation(_ rotation: FrameRotation) { media.video?.setUserInterfaceRotation(rotation) }

    /// Stops the sources and their publications. It has no effect when it is called again.
    public func stop() { mediaStream.stop() }
}

/// Runs functions that wait for a device or an address on their own threads, because the threads of Swift's concurrency
/// must not block.
enum DeviceThread {
    /// Returns the result of the function. Throws its error, or an error if there is no thread.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(DeviceError) -> Value
    ) async throws(PCastError) -> Value {
        let result: Result<Value, DeviceError> = await withCheckedContinuation { continuation in
            do {
                _ = try WorkerThread(name: "devices") {
                    continuation.resume(returning: Result { () throws(DeviceError) in try body() })
                }
            } catch {
                continuation.resume(returning: .failure(.noThread("\(error)")))
            }
        }
        do throws(DeviceError) {
            return try result.get()
        } catch {
            throw PCastError(error)
        }
    }
}
