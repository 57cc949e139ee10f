import PCastCore
import PCastRendering
import PCastWebRTC
import Synchronization

/// A file into which a subscribed stream is written as it comes, without being decoded. It ends with the stream, or when
/// it is stopped.
public final class StreamRecording: Sendable {
    /// Where it is written.
    public let path: String

    private let media: RemoteMedia
    private let recorder: FileRecorder
    private let taking = Mutex<Int?>(nil)

    /// - Parameter name: of the file, where the path is not its name.
    init(of media: RemoteMedia, codecs: [Codec], to path: String, named name: String? = nil) throws(PCastError) {
        self.path = name ?? path
        self.media = media
        do {
            recorder = try FileRecorder(path: path, named: name, tracks: codecs)
        } catch {
            throw PCastError(.failed, .device, "\(name ?? path) cannot be recorded to: \(error)")
        }
        let id = media.feed.add { [recorder] media in
            if case .frame(let frame, let arrival) = media { recorder.push(frame, arrivedAt: arrival) }
        }
        taking.withLock { $0 = id }
        // A key frame to begin with; the recorder waits for it.
        media.call.requestKeyFrame()
        media.life.whenEnded { [self] _ in stop() }
    }

    /// Frames in the file so far.
    public var framesWritten: Int { recorder.framesWritten }

    /// Why nothing more is written, in words for people; nil while all is well.
    public var failure: String? { recorder.failure }

    /// Writes what waits, and the end of the file, and waits for that. Harmless when called again.
    public func stop() {
        let id = taking.withLock { taking in
            defer { taking = nil }
            return taking
        }
        if let id { media.feed.remove(id) }
        recorder.finish()
    }
}
