internal import PCastCore
internal import PCastHLS
internal import PCastWeb
internal import Synchronization

/// The content of a web address whose file extension does not determine the format. A playlist is detected by its media
/// type or by its first line (RFC 8216, section 4). Anything else is a file.
///
/// The first bytes are requested when it is opened. Afterwards all calls reach the detected content.
final class WebContent: PlaybackContent {
    private let address: ContentAddress
    private let configuration: HLSContent.Configuration
    private let wait = ReaderWait()
    private let found = Mutex<(any PlaybackContent)?>(nil)

    /// The media types of playlists.
    private static let types = [
        "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl",
        "application/mpegurl",
    ]
    /// The first line of a playlist, after an optional byte order mark.
    private static let mark = "#EXTM3U"

    /// Creates content that is not open.
    init(_ address: ContentAddress, configuration: HLSContent.Configuration) {
        (self.address, self.configuration) = (address, configuration)
    }

    private var content: (any PlaybackContent)? { found.withLock { $0 } }

    var overview: ContentOverview? { content?.overview }

    var bufferedPosition: TimeSpan? { content?.bufferedPosition }

    func open() throws(PlaybackError) -> TimeSpan {
        if let content { return try content.open() }
        let content: any PlaybackContent =
            try isPlaylist()
            ? HLSContent(address.text, configuration: configuration)
            : FileContent(address.text, timeout: configuration.timeout)
        found.withLock { $0 = content }
        // An interruption before the content existed applies to this call.
        if wait.takeInterruption() { throw .interrupted }
        return try content.open()
    }

    /// The media type and the first bytes of the response.
    private final class ResponseBeginning: Sendable {
        let bytes = Mutex<[UInt8]>([])
        let type = Mutex<String?>(nil)
        let result = Mutex<Result<Bool, PlaybackError>?>(nil)
    }

    /// Requests the first bytes and returns whether they are those of a playlist. Throws a ``PlaybackError`` if the
    /// server rejects the request or does not respond.
    private func isPlaylist() throws(PlaybackError) -> Bool {
        let beginning = ResponseBeginning()
        let (address, timeout, wait) = (address, configuration.timeout, wait)
        let task = Task {
            let result: Result<Bool, PlaybackError>
            do throws(HTTPDownload.Failure) {
                let head = try await HTTPDownload.get(
                    address.text, limit: .max / 2, timeout: timeout, cookies: HTTPCookies()
                ) { head, piece in
                    beginning.type.withLock { $0 = head.contentType }
                    return beginning.bytes.withLock { bytes in
                        bytes += piece.prefix(16)
                        return bytes.count < 16
                    }
                }
                let isFine = (200..<300).contains(head.status)
                result =
                    isFine
                    ? .success(Self.isPlaylist(beginning)) : .failure(.refused(address.name, status: head.status))
            } catch { result = .failure(LoadFailure(error, address.text).playbackError(address.name)) }
            beginning.result.withLock { $0 = result }
            wait.raise()
        }
        guard let result = wait.wait(for: { beginning.result.withLock { $0 } }) else {
            task.cancel()
            _ = wait.takeInterruption()
            throw .interrupted
        }
        return try result.get()
    }

    /// Whether the response is a playlist.
    private static func isPlaylist(_ beginning: ResponseBeginning) -> Bool {
        if let type = beginning.type.withLock({ $0 }), types.contains(type) { return true }
        var text = beginning.bytes.withLock { $0 }[...]
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        return text.starts(with: mark.utf8)
    }

    func read() throws(PlaybackError) -> ContentItem? { try content?.read() }

    func seek(to position: TimeSpan) throws(PlaybackError) -> TimeSpan {
        guard let content else { throw .notSeekable }
        return try content.seek(to: position)
    }

    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) throws(PlaybackError) {
        guard let content else { throw .noTrack(track?.rawValue ?? "") }
        try content.select(track, of: kind)
    }

    func interrupt() {
        // If the content exists, only the content waits.
        if let content { content.interrupt() } else { wait.interrupt() }
    }

    func close() {
        wait.interrupt()
        content?.close()
    }
}
