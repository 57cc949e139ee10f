internal import PCastCore
internal import PCastHLS
internal import PCastWeb
internal import Synchronization

/// What a web server has at an address whose ending does not tell what it is: a playlist of HTTP Live Streaming is recognized by
/// its content type, or by how it begins (RFC 8216, section 4); everything else is a file.
///
/// Asked for once when it is opened, as far as the first piece; then it is the content that it was found to be.
final class WebContent: PlaybackContent {
    private let address: ContentAddress
    private let configuration: HLSContent.Configuration
    private let wait = ReaderWait()
    private let found = Mutex<(any PlaybackContent)?>(nil)

    private static let types = [
        "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl",
        "application/mpegurl",
    ]
    /// What a playlist begins with, behind a byte order mark perhaps.
    private static let mark = "#EXTM3U"

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
        // Whoever interrupted before it was there meant this call.
        if wait.takeInterruption() { throw .interrupted }
        return try content.open()
    }

    /// What the answer begins with.
    private final class Beginning: Sendable {
        let bytes = Mutex<[UInt8]>([])
        let type = Mutex<String?>(nil)
        let result = Mutex<Result<Bool, PlaybackError>?>(nil)
    }

    /// - Throws: what the server says, or that it says nothing.
    private func isPlaylist() throws(PlaybackError) -> Bool {
        let beginning = Beginning()
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

    private static func isPlaylist(_ beginning: Beginning) -> Bool {
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
        // Of one that is found already, only that one waits.
        if let content { content.interrupt() } else { wait.interrupt() }
    }

    func close() {
        wait.interrupt()
        content?.close()
    }
}
