internal import PCastHLS
internal import Synchronization

/// The requests for the partial segment that a playlist announces as the next one (`EXT-X-PRELOAD-HINT`), before it is
/// available.
final class PartHints: Sendable {
    private struct Hinted {
        var uri: String
        var start: Int64
        var task: Task<[UInt8]?, Never>
    }

    private let fetcher: HLSFetcher
    private let hinted = Mutex<Hinted?>(nil)

    /// Creates a client without a request.
    init(_ fetcher: HLSFetcher) { self.fetcher = fetcher }

    /// Requests the announced part, unless it is requested already.
    func follow(_ hint: PreloadHint?, base: URIReference) {
        guard let hint else { return }
        let uri = URIReference(hint.uri).resolved(against: base).text
        let stale: Hinted? = hinted.withLock { hinted in
            if let old = hinted, old.uri == uri, old.start == hint.start { return nil }
            defer {
                let fetcher = fetcher
                // A whole resource is requested without a range, because its length may be unknown.
                let range = hint.start == 0 && hint.length == nil ? nil : (hint.start, hint.length)
                let task = Task { await Self.fetch(uri, range, by: fetcher) }
                hinted = Hinted(uri: uri, start: hint.start, task: task)
            }
            return hinted
        }
        stale?.task.cancel()
    }

    /// Loads a part; nil on failure.
    private static func fetch(
        _ uri: String, _ range: (offset: Int64, length: Int64?)?, by fetcher: HLSFetcher
    ) async -> [UInt8]? {
        let collected = Mutex<[UInt8]>([])
        do throws(LoadFailure) {
            try await fetcher.stream(uri, range: range, limit: HLSFetcher.segmentLimit) { piece, _ in
                collected.withLock { $0 += piece }
            }
        } catch { return nil }
        return collected.withLock { $0 }
    }

    /// Returns the bytes of a part that was announced; nil if it was not requested, failed, or has another length.
    func take(_ uri: String, _ range: ByteRange?) async -> [UInt8]? {
        let task: Task<[UInt8]?, Never>? = hinted.withLock { hinted in
            guard let old = hinted, old.uri == uri, old.start == range?.offset ?? 0 else { return nil }
            hinted = nil
            return old.task
        }
        guard let bytes = await task?.value, range.map({ $0.length == Int64(bytes.count) }) ?? true else { return nil }
        return bytes
    }

    /// Cancels the request.
    func stop() { hinted.withLock { $0 }?.task.cancel() }
}
