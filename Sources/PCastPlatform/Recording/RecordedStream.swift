import Dispatch
import NIOCore
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastHLS
import PCastRecording
import Synchronization

/// A recording that viewers load: its playlists, and the files on the disk or in an object store.
final class RecordedStream: Sendable {
    let recording: RecordingRecord
    let presentation: RecordingPresentation
    private let files: RecordingFiles
    private let signer: PathSigner
    let reader: FileReadingQueue
    /// The media playlists that were requested, as they are sent.
    private let playlists = Mutex<[String: RenderedPlaylist]>([:])

    init(
        _ contents: Records.RecordingContents, isComplete: Bool, in files: RecordingFiles, signer: PathSigner,
        reader: FileReadingQueue
    ) {
        recording = contents.recording
        presentation = RecordingPresentation(contents, isComplete: isComplete)
        self.files = files
        self.signer = signer
        self.reader = reader
    }

    /// Returns the signature of the recording's path, which grants access to everything below it.
    func signature(at time: WallTime) -> String { signer.signature(of: path, at: time) }

    /// Checks a signature of the recording's path.
    func check(_ signature: String, at time: WallTime) -> PathSigner.Verdict {
        signer.check(signature, of: path, at: time)
    }

    private var path: String { recording.stream.description }

    /// Returns a media playlist by its name in the multivariant playlist; nil if there is none. It is rendered once.
    func mediaPlaylist(_ name: String) -> RenderedPlaylist? {
        if let rendered = playlists.withLock({ $0[name] }) { return rendered }
        guard let playlist = presentation.mediaPlaylist(name) else { return nil }
        let rendered = RenderedPlaylist(playlist.text)
        playlists.withLock { $0[name] = rendered }
        return rendered
    }

    /// Reads a media file.
    ///
    /// - Throws: `RecordingError`.
    func read(_ file: RecordingPresentation.File) async throws(RecordingError) -> ByteBuffer {
        let files = files
        let result = await reader.run { () throws(RecordingError) -> [UInt8] in
            switch file {
            case .initialization(let name):
                let file = try files.open(name)
                guard let beginning = try file.beginning() else { throw .corrupt(path: file.path) }
                return beginning.initialization
            case .segment(let segment):
                let name = RecordingFolder.FileName(
                    epoch: segment.epoch, rendition: segment.rendition, number: segment.file)
                return try files.open(name).media(of: segment)
            }
        }
        return ByteBuffer(bytes: try result.get())
    }

    /// Creates an MP4 file of a range of the recording. It waits for the disk.
    ///
    /// - Throws: `RecordingError`.
    func makeMovie(_ range: MovieRange) throws(RecordingError) -> RecordedMovie.Result {
        try presentation.movie(in: files, from: range.start, to: range.end)
    }
}

/// Reads files outside of the threads of Swift concurrency, which must not wait for a disk.
final class FileReadingQueue: Sendable {
    private let queue = DispatchQueue(label: "recordings-read", qos: .userInitiated, attributes: .concurrent)
    private let slots: DispatchSemaphore
    private let entrance = DispatchQueue(label: "recordings-read-wait", qos: .userInitiated)

    /// Creates a queue. `width` is the number of reads at the same time.
    init(width: Int = 4) { slots = DispatchSemaphore(value: width) }

    /// Runs an operation. The operations begin in the order of the calls.
    func run<Value: Sendable, Failure: Error>(
        _ operation: @escaping @Sendable () throws(Failure) -> Value
    ) async -> Result<Value, Failure> {
        await withCheckedContinuation { continuation in
            entrance.async { [queue, slots] in
                slots.wait()
                queue.async {
                    defer { slots.signal() }
                    do throws(Failure) {
                        continuation.resume(returning: .success(try operation()))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            }
        }
    }
}
