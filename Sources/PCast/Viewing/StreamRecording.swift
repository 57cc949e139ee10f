import PCastCore
import PCastRendering
import PCastWebRTC
import Synchronization

/// A recording of a subscribed stream to a file, without decoding. It ends with the stream, or when it is stopped.
public final class StreamRecording: Sendable {
    /// The path of the file.
    public let path: String

    private let media: RemoteMedia
    private let recorder: FileRecorder
    private let sinkID = Mutex<Int?>(nil)

    /// Begins a recording. `name` is the file's name for people and for the format, if the path is not its name. Throws
    /// an error if the file cannot be written.
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
        sinkID.withLock { $0 = id }
        // The recorder waits for a key frame before it writes anything.
        media.call.requestKeyFrame()
        media.lifecycle.whenEnded { [self] _ in stop() }
    }

    /// The number of frames in the file so far.
    public var framesWritten: Int { recorder.framesWritten }

    /// The reason of a failure as a text for people; nil if there is none.
    public var failure: String? { recorder.failure }

    /// Writes the remaining frames and the end of the file, and waits for that. It has no effect when it is called
    /// again.
    public func stop() {
        let id = sinkID.withLock { sinkID in
            defer { sinkID = nil }
            return sinkID
        }
        if let id { media.feed.remove(id) }
        recorder.finish()
    }
}
