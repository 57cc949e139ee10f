import NIOCore
import PCastCore
import PCastIO
import Synchronization

/// The still images of packaged streams. A separate process decodes the last key frame, because the platform decodes no
/// video of publishers itself. An image is the same for all viewers, and at most two seconds old when it is made again.
final class ThumbnailService: Sendable {
    /// The time for which an image is sent again.
    static let validity = TimeSpan.seconds(2 as Int64)
    /// The maximum size of an image, in bytes.
    private static let sizeLimit = 1 << 20
    /// The maximum number of processes at the same time.
    private static let processLimit = 4

    private struct Entry {
        let began: Instant
        let image: Task<ByteBuffer?, Never>
    }

    private struct State {
        /// The images that are valid or being made.
        var entries: [StreamID: Entry] = [:]
        var processCount = 0
    }

    private let process: ConvertingProcess?
    private let state = Mutex(State())

    /// Creates the service. Without a configuration there are no images. A process that runs longer than `timeout` is
    /// killed.
    init(_ configuration: ThumbnailConfiguration?, timeout: Duration = .seconds(5)) {
        process = configuration.map { configuration in
            ConvertingProcess(
                configuration.program, configuration.arguments, environment: JobEnvironment.make(),
                outputLimit: Self.sizeLimit, timeout: timeout)
        }
    }

    /// Returns the image of a stream as JPEG.
    ///
    /// - Throws: ``APIError`` if there is no key frame, or too many images are being made.
    func thumbnail(of packaged: PackagedStream, at now: Instant) async throws(APIError) -> ByteBuffer {
        guard let process else { throw .noThumbnails }
        guard let keyFrame = packaged.lastKeyFrame else { throw .thumbnailNotReady }
        let image = state.withLock { state -> Task<ByteBuffer?, Never>? in
            state.entries = state.entries.filter { now - $0.value.began < Self.validity }
            if let entry = state.entries[packaged.id] { return entry.image }
            guard state.processCount < Self.processLimit else { return nil }
            state.processCount += 1
            let task = Task { await self.image(of: keyFrame, by: process) }
            state.entries[packaged.id] = Entry(began: now, image: task)
            return task
        }
        guard let image else { throw .tooManyThumbnails }
        guard let bytes = await image.value else { throw .noThumbnail }
        return bytes
    }

    private func image(of keyFrame: [UInt8], by process: ConvertingProcess) async -> ByteBuffer? {
        let bytes = await process.convert(keyFrame)
        state.withLock { $0.processCount -= 1 }
        return bytes.map { ByteBuffer(bytes: $0) }
    }
}

/// The program that makes still images of streams: it reads an H.264 key frame in Annex B format from its standard
/// input, and writes a JPEG file to its standard output.
public struct ThumbnailConfiguration: Hashable, Sendable {
    /// The path of the program.
    public var program: String
    /// The arguments of the program, `thumbnail` for `pcast`.
    public var arguments: [String]

    /// Creates a configuration.
    public init(program: String, arguments: [String]) {
        self.program = program
        self.arguments = arguments
    }
}
