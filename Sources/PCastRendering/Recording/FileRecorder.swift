import PCastCodecs
import PCastIO
public import PCastMedia
import Synchronization

/// Writes a stream as it comes, without decoding it, into an MP4, Matroska or WebM file by the path's extension.
///
/// The file begins with the first key frame. A thread of its own writes, so that a slow disk holds nobody up.
public final class FileRecorder: Sendable {
    private struct Entry: Sendable {
        let frame: EncodedFrame
        let arrival: Instant
    }

    private struct State {
        var worker: WorkerThread?
        var failure: String?
        var framesWritten = 0
    }

    /// Several seconds of both tracks; a disk that is slower than that loses frames, which are counted.
    private static let capacity = 512

    private let queue = FrameQueue<Entry>(capacity: FileRecorder.capacity)
    private let state = Mutex(State())

    /// - Parameters:
    ///   - path: `.mp4`, `.mkv` or `.webm`; an existing file is replaced.
    ///   - tracks: the codecs that are recorded, at most one of a medium.
    /// - Throws: when no thread can be had.
    public init(path: String, named name: String? = nil, tracks: [Codec]) throws {
        let writer = try MediaWriter(path: path, named: name, tracks: tracks)
        let hasVideo = tracks.contains { $0.mediaType == .video }
        let worker = try WorkerThread(name: "record") { [self] in write(to: writer, hasVideo: hasVideo) }
        state.withLock { $0.worker = worker }
    }

    /// Takes the next frame of a track, in decoding order; never blocks.
    ///
    /// - Parameter arrival: when it came, by which the tracks are laid together while capture times are unknown.
    public func push(_ frame: EncodedFrame, arrivedAt arrival: Instant) {
        queue.push(Entry(frame: frame, arrival: arrival))
    }

    /// Frames in the file.
    public var framesWritten: Int { state.withLock { $0.framesWritten } }

    /// Frames that the disk was too slow for.
    public var framesDropped: Int { queue.droppedCount }

    /// Why nothing more is written; nil while all is well.
    public var failure: String? { state.withLock { $0.failure } }

    /// Writes what waits, and the end of the file, without which it cannot be played.
    public func finish() {
        queue.close()
        state.withLock { $0.worker }?.join()
    }

    private func write(to writer: MediaWriter, hasVideo: Bool) {
        var timeline = RecordingTimeline(hasVideo: hasVideo)
        do {
            while let entry = queue.pop() {
                guard let position = timeline.position(of: entry.frame, arrivedAt: entry.arrival) else { continue }
                try writer.write(entry.frame, at: position)
                state.withLock { $0.framesWritten += 1 }
            }
            try writer.finish()
        } catch {
            queue.close()
            state.withLock { $0.failure = "\(error)" }
        }
    }
}
